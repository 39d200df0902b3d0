"""Copies of blocks within the key and value caches of several layers (vLLM `copy_blocks`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import blocks as copies
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, blocks: int, heads: int, head_size: int, block_size: int, pairs: int, dtype: torch.dtype,
    layers: int = 1,
) -> Call:  # fmt: skip
    """One call: for each layer a key cache (blocks, heads, head_size / x, block_size, x) and a value cache (blocks,
    heads, head_size, block_size)."""
    x = min(head_size, 16 // dtype.itemsize)
    keys = copies.buffers(make, layers, (blocks, heads, head_size // x, block_size, x), dtype, 0)
    values = copies.buffers(make, layers, (blocks, heads, head_size, block_size), dtype, 0)
    return make.call(keys, values, copies.mapping(make, blocks, pairs))


def oracle(
    key_caches: list[torch.Tensor], value_caches: list[torch.Tensor], block_mapping: torch.Tensor
) -> dict[str, list[torch.Tensor]]:
    """All caches after the call."""
    return {
        "key_caches": [copies.copied(t, block_mapping) for t in key_caches],
        "value_caches": [copies.copied(t, block_mapping) for t in value_caches],
    }


GEOMETRY = "blocks,heads,head_size,block_size,pairs"
PUBLISHED = (
    (8, 4, 64, 16, 2), (32, 8, 128, 16, 4), (64, 4, 64, 32, 8), (64, 8, 128, 32, 8), (64, 16, 128, 32, 16),
    (128, 8, 64, 32, 8), (128, 16, 128, 32, 16), (128, 8, 128, 32, 16), (16, 8, 64, 16, 4), (256, 16, 128, 64, 16),
    (256, 32, 256, 64, 32), (512, 16, 128, 32, 16),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {"dtype": ("float16", "bfloat16", "float32", "uint8"), "layers": (1, 2, 3)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 64]), dtype=("float16",)),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 64]), dtype=("float16",)),
        grids.pairwise(
            origin="extra", **axes(GEOMETRY, ((9, 3, 80, 8, 5), (800, 4, 64, 16, 512), (4, 1, 16, 1, 0))), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(**axes(GEOMETRY, ((9, 7, 80, 8, 5), (4, 1, 16, 3, 2), (5, 1, 48, 1, 0))), **_AWKWARD),),
    "smoke": (
        grids.points(
            {GEOMETRY: (5, 2, 16, 4, 3), "dtype": "float16", "layers": 2},
            {GEOMETRY: (3, 1, 32, 2, 1), "dtype": "float32"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "copy_blocks(key_caches: list[torch.Tensor], value_caches: list[torch.Tensor], block_mapping: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=copies.jitter,
    writes=("key_caches", "value_caches"),
    compare=Exact(),
    description=(
        "Copies blocks within the caches of every layer: for each pair (src, dst) of block_mapping and each layer, "
        "key_caches[layer][dst] = key_caches[layer][src] and value_caches[layer][dst] = value_caches[layer][src]."
    ),
    notes=(
        (
            "The two lists have one tensor a layer, all contiguous, of the same type (fp16, bf16, fp32, uint8) and with "
            "the same number of elements in a block:\n"
            "  key cache    (blocks, heads, head_size / x, block_size, x)\n"
            "  value cache  (blocks, heads, head_size, block_size)"
        ),
        (
            "block_mapping is (pairs, 2) int64 on the caches' device. Destinations are distinct and never sources; one "
            "source may have several destinations. There may be no pair. All caches are written, and nothing in them but "
            "the destinations."
        ),
    ),
    family="copy_blocks",
)
