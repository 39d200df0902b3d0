"""Copies of blocks from one cache to another (vLLM `swap_blocks`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import blocks as copies
from kgb_gym.operators.vllm.families.entry import entry

MAPPINGS = ("identity", "reverse", "random_subset", "none")


def build(
    make: Maker, *, num_blocks: int, block_shape: tuple[int, ...], dtype: torch.dtype, mapping_kind: str,
    more: int = 0,
) -> Call:  # fmt: skip
    """One call: src of `num_blocks` blocks, dst of `more` further ones."""
    (src,) = copies.buffers(make, 1, (num_blocks, *block_shape), dtype, 0)
    (dst,) = copies.buffers(make, 1, (num_blocks + more, *block_shape), dtype, 0)
    return make.call(src, dst, mapping(make, num_blocks, num_blocks + more, mapping_kind))


def mapping(make: Maker, sources: int, destinations: int, kind: str) -> torch.Tensor:
    """Pairs (source, destination), int64: all blocks in order or in reverse, or the half of them at random places.

    Raises:
        ValueError: the kind is unknown.
    """
    every = torch.arange(sources)
    if kind == "identity":
        return torch.stack((every, every), 1)
    if kind == "reverse":
        return torch.stack((every, every.flip(0)), 1)
    if kind not in MAPPINGS:
        raise ValueError(f"unknown mapping {kind!r}: use one of {', '.join(MAPPINGS)}")
    count = (sources + 1) // 2 if kind == "random_subset" else 0
    read = make.integers((count,), torch.int64, low=0, high=sources)
    return torch.stack((read, make.permutation(destinations)[:count]), 1)


def oracle(src: torch.Tensor, dst: torch.Tensor, block_mapping: torch.Tensor) -> dict[str, torch.Tensor]:
    """dst after the call."""
    after = dst.clone()
    for source, destination in block_mapping.tolist():
        after[destination] = src[source]
    return {"dst": after}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of blocks, another block, any mapping."""
    return {
        **params,
        "num_blocks": rng.randint(1, max(3, params["num_blocks"] + 2)),
        "block_shape": [max(1, n + rng.randint(-3, 3)) for n in params["block_shape"]],
        "mapping_kind": rng.choice(MAPPINGS[:3]),
        "more": rng.randint(0, 3),
    }


_PAPER = grids.product(
    mapping_kind=MAPPINGS[:3], dtype=("float16", "bfloat16"), block_shape=((16, 64), (32, 128), (64, 256)),
    num_blocks=(1, 32, 512),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "mapping_kind": MAPPINGS, "dtype": ("float16", "bfloat16", "float32", "uint8"), "more": (0, 3),
}  # fmt: skip
GRIDS = {
    "paper": (
        grids.Grid(_PAPER.where(lambda p: p["num_blocks"] > 1).points, timed=True),
        _PAPER.where(lambda p: p["num_blocks"] == 1),
        grids.pairwise(origin="extra", block_shape=((1,), (7, 3, 5), (4, 8, 16, 8)), num_blocks=(3, 100), **_AWKWARD),
    ),
    "quick": (grids.pairwise(block_shape=((1,), (7, 3, 5), (12, 100)), num_blocks=(1, 5, 8), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"block_shape": (4, 6), "num_blocks": 4, "dtype": "float16", "mapping_kind": "random_subset", "more": 1},
            {"block_shape": (16, 64), "num_blocks": 2, "dtype": "bfloat16", "mapping_kind": "reverse"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "swap_blocks(src: torch.Tensor, dst: torch.Tensor, block_mapping: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("dst",),
    compare=Exact(),
    description=(
        "Copies blocks from one cache to another: dst[d] = src[s] for each pair (s, d) of block_mapping. In spite of the "
        "name nothing is exchanged: src keeps its contents."
    ),
    notes=(
        (
            "src and dst are (blocks, ...) with blocks of the same shape, contiguous, on one device and of one type (fp16, "
            "bf16, fp32, uint8); dst may have more blocks. Only dst is written, and in it only the named blocks."
        ),
        (
            "block_mapping is (pairs, 2) int64 and lies on the caches' device. Destinations are distinct, sources need "
            "not be. There may be no pair."
        ),
    ),
    family="copy_blocks",
)
