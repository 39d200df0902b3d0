"""Columns of a matrix by a permutation (vLLM `permute_cols`)."""

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

PATTERNS = ("identity", "reverse", "random")


def build(make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, perm_pattern: str) -> Call:
    """One call: a matrix and a permutation of its columns."""
    columns = shape[-1]
    perms = {
        "identity": torch.arange(columns),
        "reverse": torch.arange(columns).flip(0),
        "random": make.permutation(columns),
    }
    return make.call(make.normal(shape, dtype), perms[perm_pattern].int())


def oracle(a: torch.Tensor, perm: torch.Tensor) -> dict[str, torch.Tensor]:
    """The columns, copied."""
    return {"return": a[..., perm.long()]}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes; columns stay a multiple of 8."""
    rows, columns = params["shape"]
    return {
        **params,
        "shape": [rng.randint(1, rows + 4), 8 * rng.randint(1, columns // 8 + 3)],
        "perm_pattern": rng.choice(PATTERNS[1:]),
    }


_HALVES = ("float16", "bfloat16")
_PAPER = grids.product(
    dtype=_HALVES, perm_pattern=PATTERNS, shape=((1, 32), (71, 504), (128, 512), (1024, 4096), (5333, 8192))
)
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] >= 1024),
        grids.pairwise(
            origin="extra", dtype=_HALVES, perm_pattern=PATTERNS, shape=((1, 512), (544, 4096), (67, 8192), (3, 8))
        ),
    ),
    "quick": (
        grids.pairwise(dtype=_HALVES, perm_pattern=PATTERNS, shape=((1, 32), (7, 504), (3, 2056), (2, 4104), (5, 8))),
    ),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float16", "perm_pattern": "random"},
            {"shape": (2, 64), "dtype": "bfloat16", "perm_pattern": "reverse"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "permute_cols(a: torch.Tensor, perm: torch.Tensor) -> torch.Tensor",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Exact(),
    description="Returns the matrix with its columns permuted: out[i, j] = a[i, perm[j]].",
    notes=(
        (
            "a is (m, k), contiguous, fp16 or bf16; k is a multiple of 8. perm is (k,) int32, a permutation of 0 to "
            "k - 1. out is fresh, (m, k)."
        ),
    ),
    family="permute_cols",
)
