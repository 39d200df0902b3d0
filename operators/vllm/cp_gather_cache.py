"""Gather of ragged sequences from a paged cache (vLLM `cp_gather_cache`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import cache, gathering
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, blocks: int, block_size: int, tokens: int, batch: int, width: tuple[int, ...], dtype: torch.dtype,
    lengths: str = "equal", starts: bool = False,
) -> Call:  # fmt: skip
    """One call: src_cache (blocks, block_size, *width), dst (tokens, *width)."""
    src = cache.stored(make, (blocks, block_size, *width), dtype)
    where = gathering.sequences(
        make, blocks=blocks, block_size=block_size, batch=batch, tokens=tokens, lengths=lengths, starts=starts
    )
    dst = make.out((tokens, *width), dtype)
    return make.call(src, dst, where.block_table, where.cu_seq_lens, batch, where.seq_starts)


def oracle(
    src_cache: torch.Tensor, dst: torch.Tensor, block_table: torch.Tensor, cu_seq_lens: torch.Tensor, batch_size: int,
    seq_starts: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """dst after the call."""
    after = dst.clone()
    for row, block, inside in gathering.places(block_table, cu_seq_lens, seq_starts, src_cache.shape[1]):
        after[row] = src_cache[block, inside]
    return {"dst": after}


GEOMETRY = "blocks,block_size,width,batch,tokens"
PUBLISHED = tuple(
    (blocks, size, (heads, head_size), batch, blocks // batch * size * batch)
    for blocks, size, heads, head_size, batch in (
        (8, 16, 4, 64, 2), (16, 16, 8, 128, 2), (32, 32, 4, 64, 4), (16, 32, 8, 64, 2), (32, 16, 4, 128, 4),
        (64, 16, 4, 64, 4), (64, 32, 8, 128, 4), (128, 32, 8, 256, 8),
    )
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32", "uint8"), "lengths": gathering.LENGTHS, "starts": (False, True),
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 32]), dtype=("float16",)),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 32]), dtype=("float16",)),
        grids.pairwise(
            origin="extra",
            **axes(
                GEOMETRY, ((9, 16, (576,), 8, 301), (9, 8, (3, 80), 65, 700), (50, 64, (576,), 129, 5000), (1, 1, (1,), 1, 1))
            ),
            **_AWKWARD,
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(GEOMETRY, ((5, 16, (2, 72), 3, 21), (9, 4, (40,), 8, 30), (1, 1, (1,), 1, 1), (3, 8, (600,), 2, 9))),
            **_AWKWARD,
        ),
    ),
    "smoke": (
        grids.points(
            {GEOMETRY: (4, 4, (24,), 3, 13), "dtype": "float16", "lengths": "ragged", "starts": True},
            {GEOMETRY: (4, 4, (2, 16), 2, 16), "dtype": "bfloat16"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "cp_gather_cache(src_cache: torch.Tensor, dst: torch.Tensor, block_table: torch.Tensor, cu_seq_lens: torch.Tensor, "
    "batch_size: int, seq_starts: torch.Tensor | None = None) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=gathering.jitter,
    writes=("dst",),
    compare=Exact(),
    description=(
        "Gathers the tokens of several sequences from a paged cache: token i of sequence b stands at p = i + "
        "seq_starts[b] of its sequence, so dst[cu_seq_lens[b] + i] = src_cache[block_table[b, p // block_size], p % "
        "block_size]."
    ),
    notes=(
        (
            "src_cache is (blocks, block_size, ...) and dst is (tokens, ...), contiguous and of one type (fp16, bf16, "
            "fp32, uint8). Only dst is written, each of its rows once."
        ),
        gathering.TABLES + ".",
        (
            "batch_size is the number of sequences. seq_starts is int32 (sequences,) and need not be a multiple of "
            "block_size; None: all zero."
        ),
    ),
    family="gather_cache",
)
