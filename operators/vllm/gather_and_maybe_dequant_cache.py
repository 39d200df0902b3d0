"""Gather of latent vectors from a paged cache, dequantised if need be (vLLM `gather_and_maybe_dequant_cache`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import cache, gathering
from kgb_gym.operators.vllm.families.entry import axes, entry

WIDTH = 576


def build(
    make: Maker, *, blocks: int, block_size: int, tokens: int, batch: int, dtype: torch.dtype,
    kv_cache_dtype: str = "auto", lengths: str = "equal", starts: bool = False, beyond: int = 0, spare: int = 0,
) -> Call:  # fmt: skip
    """One call: `beyond` tokens after the last sequence's end, which are skipped, and `spare` more rows of dst."""
    cached = dtype if kv_cache_dtype == "auto" else torch.uint8
    src = cache.stored(make, (blocks, block_size, WIDTH), cached)
    where = gathering.sequences(
        make, blocks=blocks, block_size=block_size, batch=batch, tokens=tokens, lengths=lengths, starts=starts
    )
    owner = torch.cat((where.token_to_seq, torch.full((beyond + spare,), batch - 1, dtype=torch.int32)))
    dst = make.normal((tokens + beyond + spare, WIDTH), dtype)
    scale = make.uniform((1,), torch.float32, low=0.3, high=2.0)
    return make.call(
        src, dst, where.block_table, where.cu_seq_lens, owner, tokens + beyond, kv_cache_dtype, scale, where.seq_starts
    )


def oracle(
    src_cache: torch.Tensor, dst: torch.Tensor, block_table: torch.Tensor, cu_seq_lens: torch.Tensor,
    token_to_seq: torch.Tensor, num_tokens: int, kv_cache_dtype: str, scale: torch.Tensor,
    seq_starts: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """dst after the call."""
    after = dst.clone()
    for row, block, inside in gathering.places(block_table, cu_seq_lens, seq_starts, src_cache.shape[1]):
        entry = src_cache[block, inside]
        after[row] = entry if kv_cache_dtype == "auto" else cache.from_e4m3(entry, scale, dst.dtype)
    return {"dst": after}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """As of every gather, with and without tokens and rows beyond."""
    drawn = gathering.jitter(rng, params)
    return {**drawn, "starts": rng.random() < 0.5, "beyond": rng.randint(0, 3), "spare": rng.randint(0, 3)}


GEOMETRY = "blocks,block_size,batch,tokens"
PUBLISHED = tuple(
    (blocks, size, batch, blocks // batch * size * batch)
    for blocks, size, batch in (
        (4, 16, 2), (8, 16, 2), (8, 32, 4), (16, 16, 4), (32, 32, 4), (32, 64, 4), (64, 32, 4), (64, 32, 8), (64, 64, 4),
        (64, 64, 8), (128, 32, 4), (128, 64, 4), (128, 64, 8),
    )
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32"), "kv_cache_dtype": ("auto", "fp8", "fp8_e4m3"),
    "lengths": gathering.LENGTHS, "starts": (False, True), "beyond": (0, 2), "spare": (0, 3),
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 32]), dtype=("float16",)),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 32]), dtype=("float16",)),
        grids.pairwise(
            origin="extra", **axes(GEOMETRY, ((9, 16, 8, 512), (50, 64, 129, 4001), (1, 1, 1, 1))), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(**axes(GEOMETRY, ((5, 16, 3, 21), (9, 4, 8, 11), (1, 1, 1, 1))), **_AWKWARD),),
    "smoke": (
        grids.points(
            {GEOMETRY: (4, 4, 3, 9), "dtype": "float16", "lengths": "ragged", "starts": True},
            {GEOMETRY: (4, 4, 2, 8), "dtype": "bfloat16", "kv_cache_dtype": "fp8"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "gather_and_maybe_dequant_cache(src_cache: torch.Tensor, dst: torch.Tensor, block_table: torch.Tensor, cu_seq_lens: "
    "torch.Tensor, token_to_seq: torch.Tensor, num_tokens: int, kv_cache_dtype: str, scale: torch.Tensor, seq_starts: "
    "torch.Tensor | None = None) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("dst",),
    compare=Exact(),
    description=(
        "Gathers the latent vectors of several sequences from a paged cache: for t < num_tokens, with b = "
        "token_to_seq[t] and p = t - cu_seq_lens[b] + seq_starts[b], dst[t] = src_cache[block_table[b, p // block_size], "
        "p % block_size]; from a cache of bytes the numbers are dequantised."
    ),
    notes=(
        (
            "src_cache is (blocks, block_size, 576), dst is (rows, 576) fp16, bf16 or fp32, both contiguous. Only dst is "
            "written. Tokens at or beyond cu_seq_lens[b + 1] are skipped, and rows from num_tokens on: both keep their "
            "contents."
        ),
        gathering.TABLES + "; token_to_seq is int32 (rows,).",
        "seq_starts is int32 (sequences,) and need not be a multiple of block_size; None: all zero.",
        (
            "kv_cache_dtype 'auto': src_cache has dst's type and is copied, scale is ignored. 'fp8' and 'fp8_e4m3': "
            "src_cache is uint8 and holds e4m3 numbers: float32(number) * scale, rounded to dst's type; scale is a "
            "one-element fp32 tensor."
        ),
    ),
    family="gather_cache",
)
