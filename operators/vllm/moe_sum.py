"""Sum over the experts of each token (vLLM `moe_sum`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, num_tokens: int, topk: int, hidden_size: int, dtype: torch.dtype, std: float = 1.0, special: bool = False,
) -> Call:  # fmt: skip
    """One call: input (tokens, topk, hidden), some of it NaN or infinite if `special`, output (tokens, hidden) of NaN."""
    given = make.normal((num_tokens, topk, hidden_size), dtype, std=std)
    if special:
        make.sprinkle(given, (float("nan"), float("inf"), float("-inf")))
    return make.call(given, make.out((num_tokens, hidden_size), dtype))


def oracle(input: torch.Tensor, output: torch.Tensor) -> dict[str, torch.Tensor]:
    """The sum in float64."""
    return {"output": input.sum(1, dtype=torch.float64)}


def magnitudes(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The sum of absolute values."""
    source: torch.Tensor = arguments["input"]
    return source.double().abs().sum(1)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes."""
    return {
        **params,
        "num_tokens": rng.randint(1, params["num_tokens"] + 3),
        "topk": rng.randint(1, 9),
        "hidden_size": max(1, params["hidden_size"] + rng.randint(-9, 40)),
    }


FLOATS = ("float16", "bfloat16", "float32")
_PAPER = grids.product(
    dtype=("float16", "bfloat16"), topk=(2, 4), hidden_size=(32, 512, 4096), num_tokens=(1, 128, 1024, 5333)
)
_FAR = {"num_tokens": 3, "topk": 3, "hidden_size": 40, "dtype": "float16"}
_EXTREMES = grids.points(
    {**_FAR, "special": True},
    {**_FAR, "std": 5000.0},
    {**_FAR, "dtype": "bfloat16", "std": 1e30},
    {**_FAR, "std": 1e-4},
)
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["num_tokens"] * p["hidden_size"] >= 1 << 19),
        grids.pairwise(
            origin="extra", dtype=FLOATS, topk=(1, 2, 3, 4, 6, 8), hidden_size=(1, 511, 7168), num_tokens=(1, 33, 222)
        ),
        _EXTREMES,
    ),
    "quick": (
        grids.pairwise(dtype=FLOATS, topk=(1, 2, 3, 4, 8), hidden_size=(1, 511, 2100), num_tokens=(1, 3, 6)),
        _EXTREMES,
    ),
    "smoke": (
        grids.points(
            {"num_tokens": 3, "topk": 2, "hidden_size": 40, "dtype": "float16"},
            {"num_tokens": 2, "topk": 6, "hidden_size": 33, "dtype": "bfloat16"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "moe_sum(input: torch.Tensor, output: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("output",),
    compare=Close(depth=lambda a: int(a["input"].shape[1]), scale=magnitudes),
    description="Sums what the experts of each token gave: output[t, h] is the sum of input[t, k, h] over k.",
    notes=(
        (
            "input is (tokens, topk, hidden), output (tokens, hidden), both contiguous and of one type: fp16, bf16 or "
            "fp32. Only output is written. Add in fp32 and round once."
        ),
    ),
    family="moe_sum",
)
