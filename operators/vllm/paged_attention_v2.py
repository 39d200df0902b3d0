"""Attention over paged keys and values in partitions of 512 tokens (vLLM `paged_attention_v2`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm, paged
from kgb_gym.operators.vllm.families.entry import axes, entry
from kgb_gym.operators.vllm.families.judging import Each, Scratch

PARTITION = 512
SCRATCH = ("exp_sum", "max_logits", "tmp_out")


def build(
    make: Maker, *, seqs: int, context: int, heads: int, kv_heads: int, head_size: int, block_size: int,
    dtype: torch.dtype, sparse: tuple[int, ...] = (), **more: Any,
) -> Call:  # fmt: skip
    """One call; `sparse` are its last five arguments."""
    given = paged.inputs(
        make, seqs=seqs, context=context, heads=heads, kv_heads=kv_heads, head_size=head_size, block_size=block_size,
        dtype=dtype, **more,
    )  # fmt: skip
    parts = -(-context // PARTITION)
    sums = [make.out((seqs, heads, parts), torch.float32) for _ in range(2)]
    scratch = make.out((seqs, heads, parts, head_size), dtype)
    return make.call(make.out((seqs, heads, head_size), dtype), *sums, scratch, *given.values(), *sparse)


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """The answer in float64; scratch is as it was, and not compared."""
    return {"out": paged.attention(arguments), **{n: arguments[n].double() for n in SCRATCH}}


SIZES = "seqs,heads,kv_heads,head_size,block_size,context"
PUBLISHED = ((2, 8, 8, 64, 16, 128), (4, 8, 8, 64, 16, 256), (4, 32, 8, 128, 16, 512), (8, 16, 8, 128, 16, 1024))
_PAPER = grids.product(dtype=("float16", "bfloat16"), **axes(SIZES, PUBLISHED))
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16"), "kv_cache_dtype": ("auto", "fp8"), "alibi": (False, True),
    "lengths": paged.LENGTHS, "padding": (0, 24), "sparse": ((), (1, 1, 3, 32, 2), (0, 2, 2, 64, -1)),
}  # fmt: skip
_SINGLE = {SIZES: (2, 2, 1, 32, 8, 530), "dtype": "float32", "alibi": True}
_SHARP = {SIZES: (2, 2, 1, 32, 16, 530), "dtype": "float16", "sharp": 60.0}
GRIDS = {
    "paper": (
        grids.points(_SINGLE, _SHARP),
        *norm.timed(_PAPER, lambda p: p["context"] >= 256),
        grids.pairwise(
            origin="extra",
            **axes(
                SIZES,
                (
                    (7, 40, 40, 80, 16, 513), (7, 64, 8, 128, 32, 4100), (1, 6, 2, 256, 8, 1025), (3, 8, 1, 96, 16, 511),
                    (2, 32, 8, 128, 16, 20000), (71, 16, 4, 64, 32, 2048),
                ),
            ),
            **_AWKWARD,
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(SIZES, ((1, 1, 1, 32, 16, 513), (1, 4, 2, 48, 32, 1030), (2, 3, 1, 64, 8, 40))),
            **_AWKWARD,
        ),
        grids.points(_SINGLE, _SHARP),
    ),
    "smoke": (
        grids.points(
            {SIZES: (2, 2, 1, 64, 16, 530), "dtype": "float16"},
            {SIZES: (1, 2, 2, 80, 8, 40), "dtype": "bfloat16", "kv_cache_dtype": "fp8"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "paged_attention_v2(out: torch.Tensor, exp_sum: torch.Tensor, max_logits: torch.Tensor, tmp_out: torch.Tensor, query: "
    "torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, " + paged.TAIL,
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=paged.jitter,
    writes=("out", *SCRATCH),
    compare=Each({n: Scratch() for n in SCRATCH}, paged.COMPARE),
    description=paged.DESCRIPTION,
    notes=(
        (
            "out is written. exp_sum and max_logits (seqs, heads, parts) fp32 and tmp_out (seqs, heads, parts, head_size) "
            "of query's type, with parts = ceil(max_seq_len / 512), are scratch for long sequences: for example the sums, "
            "maxima and partial outputs of partitions of 512 tokens, which a second kernel combines. They may be written "
            "or not, and are not compared."
        ),
        *paged.NOTES,
    ),
    family="paged_attention",
)
