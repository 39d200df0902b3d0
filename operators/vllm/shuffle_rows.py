"""Rows of a matrix by a map (vLLM `shuffle_rows`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry


def build(make: Maker, *, rows: int, cols: int, dst_factor: float, dtype: torch.dtype) -> Call:
    """One call: a matrix (rows, cols) and a map of dst_factor * rows entries, with repetitions."""
    count = max(1, round(rows * dst_factor))
    source = (
        make.integers((rows, cols), dtype, low=0, high=256)
        if dtype is torch.uint8
        else make.normal((rows, cols), dtype)
    )
    return make.call(source, make.integers((count,), torch.int32, low=0, high=rows))


def oracle(input_tensor: torch.Tensor, dst2src_map: torch.Tensor) -> dict[str, torch.Tensor]:
    """The rows, copied byte by byte."""
    rows = input_tensor.view(torch.uint8)[dst2src_map.long()]
    return {"return": rows.view(input_tensor.dtype)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes; columns stay a multiple of 16."""
    return {
        **params,
        "rows": rng.randint(1, params["rows"] + 5),
        "cols": 16 * rng.randint(1, params["cols"] // 16 + 3),
        "dst_factor": rng.choice((0.5, 1, 3)),
    }


_PAPER = grids.product(
    dtype=("float16", "bfloat16"), dst_factor=(1, 2), cols=(32, 512, 4096), rows=(1, 128, 1024, 5333)
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32", "uint8", "float8_e4m3fn"), "dst_factor": (0.3, 1, 2),
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["rows"] >= 1024),
        grids.pairwise(origin="extra", rows=(1, 7, 300), cols=(16, 48, 7168), **_AWKWARD),
    ),
    "quick": (grids.pairwise(rows=(1, 7, 5), cols=(16, 48, 2096), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"rows": 4, "cols": 32, "dst_factor": 2, "dtype": "float16"},
            {"rows": 3, "cols": 48, "dst_factor": 1, "dtype": "bfloat16"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "shuffle_rows(input_tensor: torch.Tensor, dst2src_map: torch.Tensor) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Exact(),
    description="Returns the rows of a matrix that a map names: out[i] = input_tensor[dst2src_map[i]].",
    notes=(
        (
            "input_tensor is (m, c), contiguous, fp16, bf16, fp32, uint8 or float8_e4m3fn; c is a multiple of 16. "
            "dst2src_map is (r,) int32 with values from 0 to m - 1, which may repeat or be missing. out is fresh, (r, c)."
        ),
    ),
    family="shuffle_rows",
)
