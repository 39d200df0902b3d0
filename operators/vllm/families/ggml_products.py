"""Products of a matrix with GGML's quantised weights: one operator for few rows, one for many."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import ggml
from kgb_gym.operators.vllm.families.entry import axes, entry

SHAPE = "k,row,kind,batch"


def build(make: Maker, *, k: int, row: int, kind: int, batch: int, dtype: torch.dtype) -> Call:
    """One call: normal X (batch, k), random blocks."""
    return make.call(ggml.random_blocks(make, kind, row, k), make.normal((batch, k), dtype), kind, row)


def oracle(W: torch.Tensor, X: torch.Tensor, quant_type: int, row: int) -> dict[str, Target]:
    """X times the transposed weights."""
    precise = X.double() @ ggml.dequantized(W, quant_type).T
    return {"return": Target("", precise.to(X.dtype), precise)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes of the same type."""
    k = ggml.TYPES[params["kind"]][0] * rng.randint(1, 4)
    return {**params, "k": k, "row": rng.randint(1, 70), "batch": rng.randint(1, 8)}


def suites(
    published: Sequence[Sequence[int]], timed: Any, batches: tuple[int, ...], few: tuple[int, ...]
) -> Mapping[str, tuple[Grid, ...]]:
    """The grids: published (k, row, type, batch), and every type with batches of some sizes."""
    types: dict[str, Any] = {"kind": tuple(ggml.TYPES), "dtype": ggml.FLOATS}
    return {
        "paper": (
            grids.product(timed=True, **axes(SHAPE, [p for p in published if timed(p)]), dtype=("float16",)),
            grids.product(**axes(SHAPE, [p for p in published if not timed(p)]), dtype=("float16",)),
            grids.pairwise(
                origin="extra", **axes("k,row", ((256, 1), (1024, 33), (2048, 512))), batch=batches, **types
            ),
        ),
        "quick": (
            grids.pairwise(**axes("k,row", ((256, 5),)), **axes("kind,dtype", ggml.EACH), batch=few[:1]),
            grids.points(
                {SHAPE: (32, 3, 2, few[1]), "dtype": "float16"},
                {SHAPE: (96, 7, 8, 1), "dtype": "float32"},
                {SHAPE: (512, 70, 2, 5), "dtype": "bfloat16"},
                {SHAPE: (512, 33, 14, few[1]), "dtype": "float16"},
            ),
        ),
        "smoke": (
            grids.points(
                {SHAPE: (64, 9, 2, 2), "dtype": "float16"}, {SHAPE: (256, 3, 13, 1), "dtype": "float32"}, origin="paper"
            ),
        ),
    }  # fmt: skip


def operator(name: str, rows: str, suites: Mapping[str, tuple[Grid, ...]]) -> Operator:
    """The operator, for as many rows of X as `rows` says."""
    return entry(
        f"{name}(W: torch.Tensor, X: torch.Tensor, quant_type: int, row: int) -> torch.Tensor",
        build=build,
        oracle=oracle,
        grids=suites,
        jitter=jitter,
        compare=ggml.PRODUCT,
        description=(
            "Returns X @ weights.T (B, row) in X's type, where weights (row, K) are stored in W in GGML's blocks; meant "
            f"for {rows} of X."
        ),
        notes=(
            (
                "X is fp16, bf16 or fp32, (B, K), contiguous; W is uint8, contiguous, (row, bytes of a row of K weights); "
                "K is a multiple of a block's elements. Nothing is written."
            ),
            *ggml.LAYOUT,
            ggml.JUDGED,
        ),
        family="ggml",
    )
