"""Copies of blocks within the latent caches of several layers (vLLM `copy_blocks_mla`)."""

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
    make: Maker, *, blocks: int, block_size: int, width: int, pairs: int, dtype: torch.dtype, layers: int = 1
) -> Call:  # fmt: skip
    """One call: a cache (blocks, block_size, width) for each layer."""
    return make.call(
        copies.buffers(make, layers, (blocks, block_size, width), dtype, 0), copies.mapping(make, blocks, pairs)
    )


def oracle(kv_caches: list[torch.Tensor], block_mapping: torch.Tensor) -> dict[str, list[torch.Tensor]]:
    """All caches after the call."""
    return {"kv_caches": [copies.copied(t, block_mapping) for t in kv_caches]}


GEOMETRY = "blocks,block_size,width,pairs"
PUBLISHED = (
    (8, 16, 576, 2), (32, 16, 576, 4), (64, 16, 576, 8), (64, 32, 576, 8), (64, 64, 576, 16), (128, 16, 576, 8),
    (128, 16, 576, 16), (128, 32, 576, 16), (16, 32, 576, 4), (256, 32, 576, 16), (256, 64, 576, 32), (512, 32, 576, 16),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {"dtype": ("float16", "bfloat16", "float32", "uint8"), "layers": (1, 2, 3)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 64]), dtype=("float16",)),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 64]), dtype=("float16",)),
        grids.pairwise(
            origin="extra", **axes(GEOMETRY, ((9, 8, 75, 5), (800, 16, 576, 512), (4, 1, 1, 0))), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(**axes(GEOMETRY, ((9, 8, 75, 5), (4, 4, 576, 2), (5, 1, 13, 0))), **_AWKWARD),),
    "smoke": (
        grids.points(
            {GEOMETRY: (5, 2, 16, 3), "dtype": "float16", "layers": 2},
            {GEOMETRY: (3, 1, 33, 1), "dtype": "float32"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "copy_blocks_mla(kv_caches: list[torch.Tensor], block_mapping: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=copies.jitter,
    writes=("kv_caches",),
    compare=Exact(),
    description=(
        "Copies blocks within the latent cache of every layer: for each pair (src, dst) of block_mapping and each layer, "
        "kv_caches[layer][dst] = kv_caches[layer][src]."
    ),
    notes=(
        (
            "kv_caches has one tensor (blocks, block_size, width) a layer, all contiguous and of the same shape and type "
            "(fp16, bf16, fp32, uint8)."
        ),
        (
            "block_mapping is (pairs, 2) int64 on the caches' device. Destinations are distinct and never sources; one "
            "source may have several destinations. There may be no pair. All caches are written, and nothing in them but "
            "the destinations."
        ),
    ),
    family="copy_blocks",
)
