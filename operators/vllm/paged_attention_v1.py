"""Attention over paged keys and values in one pass (vLLM `paged_attention_v1`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm, paged
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, seqs: int, context: int, heads: int, kv_heads: int, head_size: int, block_size: int,
    dtype: torch.dtype, sparse: tuple[int, ...] = (), **more: Any,
) -> Call:  # fmt: skip
    """One call; `sparse` are its last five arguments."""
    given = paged.inputs(
        make, seqs=seqs, context=context, heads=heads, kv_heads=kv_heads, head_size=head_size, block_size=block_size,
        dtype=dtype, **more,
    )  # fmt: skip
    return make.call(make.out((seqs, heads, head_size), dtype), *given.values(), *sparse)


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """The answer in float64."""
    return {"out": paged.attention(arguments)}


SIZES = "heads,kv_heads"
_PAPER = grids.product(
    dtype=("float16", "bfloat16"), block_size=(16, 32), **axes(SIZES, ((8, 8), (8, 2), (16, 16), (16, 4))),
    head_size=(64, 80, 128), context=(1, 33, 128, 512, 2048), seqs=(1, 4, 16, 71),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16"), "block_size": (8, 16, 32), "kv_cache_dtype": ("auto", "fp8"),
    "alibi": (False, True), "lengths": paged.LENGTHS, "padding": (0, 24), "sparse": ((), (1, 1, 3, 32, 2), (0, 2, 2, 64, -1)),
}  # fmt: skip
_SINGLE = {
    SIZES: (2, 1), "seqs": 2, "context": 33, "head_size": 32, "block_size": 8, "dtype": "float32", "alibi": True,
}  # fmt: skip
_SHARP = {
    SIZES: (4, 2), "seqs": 2, "context": 70, "head_size": 32, "block_size": 16, "dtype": "float16", "sharp": 60.0,
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.points(_SINGLE, _SHARP),
        *norm.timed(_PAPER, lambda p: p["seqs"] * p["context"] >= 4096),
        grids.pairwise(
            origin="extra", **axes(SIZES, ((40, 40), (64, 8), (6, 2))), head_size=(32, 80, 96, 112, 128, 192, 256),
            context=(7, 17, 31, 511, 513, 2049, 5000), seqs=(1, 7), **_AWKWARD,
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(SIZES, ((1, 1), (4, 2), (6, 1))), head_size=(32, 48, 64), context=(1, 17, 70, 140), seqs=(1, 2), **_AWKWARD
        ),
        grids.points(_SINGLE, _SHARP),
    ),
    "smoke": (
        grids.points(
            {SIZES: (2, 1), "seqs": 2, "context": 19, "head_size": 64, "block_size": 16, "dtype": "float16"},
            {SIZES: (2, 2), "seqs": 1, "context": 40, "head_size": 80, "block_size": 8, "dtype": "bfloat16",
             "kv_cache_dtype": "fp8", "alibi": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "paged_attention_v1(out: torch.Tensor, query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, "
    + paged.TAIL,
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=paged.jitter,
    writes=("out",),
    compare=paged.COMPARE,
    description=paged.DESCRIPTION,
    notes=("Only out is written.", *paged.NOTES),
    family="paged_attention",
)
