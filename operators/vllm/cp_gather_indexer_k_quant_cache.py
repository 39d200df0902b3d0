"""Gather of quantised keys and their scales from a paged cache (vLLM `cp_gather_indexer_k_quant_cache`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import gathering
from kgb_gym.operators.vllm.families.entry import axes, entry

GROUP = 128
"""Bytes of a key to a scale."""


def build(
    make: Maker, *, blocks: int, block_size: int, tokens: int, batch: int, head_size: int = 128,
    lengths: str = "equal", gap: int = 0,
) -> Call:  # fmt: skip
    """One call: kv_cache uint8 (blocks, block_size, head_size + 4 a group), `gap` slots between its blocks."""
    scales = 4 * head_size // GROUP
    buffer = make.integers((blocks, block_size + gap, head_size + scales), torch.uint8, low=0, high=256)
    where = gathering.sequences(
        make, blocks=blocks, block_size=block_size, batch=batch, tokens=tokens, lengths=lengths, starts=False
    )
    out = [make.integers((tokens, n), torch.uint8, low=0, high=256) for n in (head_size, scales)]
    return make.call(buffer[:, :block_size], *out, where.block_table, where.cu_seq_lens)


def oracle(
    kv_cache: torch.Tensor, dst_k: torch.Tensor, dst_scale: torch.Tensor, block_table: torch.Tensor,
    cu_seq_lens: torch.Tensor,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Keys and scales after the call."""
    keys, scales = dst_k.clone(), dst_scale.clone()
    size, width, extra = kv_cache.shape[1], dst_k.shape[1], dst_scale.shape[1]
    flat = kv_cache.reshape(kv_cache.shape[0], -1)
    for row, block, inside in gathering.places(block_table, cu_seq_lens, None, size):
        keys[row] = flat[block, inside * width : (inside + 1) * width]
        scales[row] = flat[block, size * width + inside * extra :][:extra]
    return {"dst_k": keys, "dst_scale": scales}


GEOMETRY = "blocks,block_size,batch,tokens"
PUBLISHED = tuple(
    (blocks, size, batch, blocks // batch * size * batch)
    for blocks, size, batch in (
        (4, 16, 2), (8, 16, 2), (8, 32, 4), (16, 16, 2), (16, 16, 4), (16, 32, 4), (32, 16, 4), (32, 32, 4), (32, 64, 4),
        (64, 32, 4), (64, 64, 4), (64, 64, 8), (128, 64, 8),
    )
)  # fmt: skip
_AWKWARD: dict[str, Any] = {"head_size": (128, 256), "lengths": gathering.LENGTHS, "gap": (0, 1)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 32])),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 32])),
        grids.pairwise(
            origin="extra",
            **axes(GEOMETRY, [(40, 64, 5, n) for n in (31, 33, 64, 129, 257, 513)] + [(9, 16, 65, 700), (1, 1, 1, 1)]),
            **_AWKWARD,
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(GEOMETRY, ((5, 16, 3, 21), (9, 4, 8, 33), (1, 1, 1, 1), (3, 64, 2, 70), (4, 8, 1, 17))), **_AWKWARD
        ),
    ),
    "smoke": (
        grids.points({GEOMETRY: (4, 4, 3, 9), "lengths": "ragged", "gap": 1}, {GEOMETRY: (4, 4, 2, 8)}, origin="paper"),
    ),
}

OPERATOR = entry(
    "cp_gather_indexer_k_quant_cache(kv_cache: torch.Tensor, dst_k: torch.Tensor, dst_scale: torch.Tensor, block_table: "
    "torch.Tensor, cu_seq_lens: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=gathering.jitter,
    writes=("dst_k", "dst_scale"),
    compare=Exact(),
    description=(
        "Gathers quantised keys and their scales from a paged cache of bytes: token i of sequence b lies at offset o = i "
        "% block_size of block block_table[b, i // block_size]; its head_size key bytes go to dst_k[cu_seq_lens[b] + i], "
        "its scale bytes to dst_scale[cu_seq_lens[b] + i]."
    ),
    notes=(
        (
            "All of the bytes are uint8: kv_cache (blocks, block_size, head_size + s), dst_k (tokens, head_size), "
            "dst_scale (tokens, s), with s = 4 * head_size / 128 (one fp32 scale for 128 key bytes). In spite of its shape "
            "a block of the cache is laid out as\n"
            "  [0, block_size * head_size)             the keys of all its slots, head_size bytes each\n"
            "  [block_size * head_size, ... + s * block_size)   the scales of all its slots, s bytes each\n"
            "A block is dense; the stride between blocks may be larger. head_size is 128 or 256."
        ),
        gathering.TABLES + ". dst_k and dst_scale are written, each row once.",
    ),
    family="gather_cache",
)
