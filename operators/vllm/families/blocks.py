"""Copies of whole blocks between and within caches."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import cache

SIZES = "blocks,pairs"


def mapping(make: Maker, blocks: int, pairs: int) -> torch.Tensor:
    """Pairs (source, destination) of blocks, int64: destinations are distinct and no sources, every second source is
    that of the pair before. The last block is a source: reading past its end leaves the cache.

    Raises:
        ValueError: too few blocks for so many pairs.
    """
    sources = (pairs + 1) // 2
    if sources + pairs > blocks:
        raise ValueError(f"{pairs} pairs need {sources + pairs} blocks, not {blocks}")
    order = torch.cat((torch.tensor([blocks - 1]), make.permutation(blocks - 1)))
    read = order[:sources].repeat_interleave(2)[:pairs]
    return torch.stack((read, order[sources : sources + pairs]), dim=1)


def buffers(make: Maker, layers: int, shape: tuple[int, ...], dtype: torch.dtype, gap: int) -> list[torch.Tensor]:
    """One cache a layer, its blocks `gap` elements further apart than they need be."""
    return [_spaced(cache.stored(make, (shape[0], _size(shape) + gap), dtype), shape) for _ in range(layers)]


def copied(tensor: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """The cache after the copies."""
    after = tensor.clone()
    after[pairs[:, 1]] = tensor[pairs[:, 0]]
    return after


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of blocks, pairs and layers, another size of a block."""
    pairs = rng.randint(1, max(2, params["pairs"] + 1))
    drawn = {"blocks": 2 * pairs + rng.randint(1, 5), "pairs": pairs, "layers": rng.randint(1, 3)}
    for name in ("heads", "head_size", "block_size", "width"):
        if name in params:
            unit = 16 if name == "head_size" else 1
            drawn[name] = unit * rng.randint(1, max(2, params[name] // unit))
    return {**params, **drawn}


def _size(shape: tuple[int, ...]) -> int:
    return torch.Size(shape[1:]).numel()


def _spaced(buffer: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    view: torch.Tensor = buffer[:, : _size(shape)].unflatten(1, shape[1:])
    return view
