"""Key and value caches of paged attention: slots, source rows and 8-bit stores."""

from __future__ import annotations

import torch

from kgb_gym.operators.maker import Maker

SLOTS = ("all", "some", "none")
"""How many of a call's tokens have a slot: the others carry a negative one and are skipped."""


def slot_mapping(make: Maker, tokens: int, blocks: int, block_size: int, kind: str) -> torch.Tensor:
    """Slots (tokens,) int64, distinct where they are not negative.

    Raises:
        ValueError: the cache is too small, or the kind is unknown.
    """
    if tokens > blocks * block_size or kind not in SLOTS:
        raise ValueError(f"{tokens} tokens do not fit {blocks} x {block_size} slots, or unknown kind {kind!r}")
    slots = make.permutation(blocks * block_size)[:tokens].clone()
    if kind != "all":
        skipped = make.permutation(tokens)[: tokens if kind == "none" else (tokens + 2) // 3]
        slots[skipped] = -1
        slots[skipped[1:2]] = -block_size - 1
    return slots


def source(
    make: Maker, rows: int, heads: int, head_size: int, dtype: torch.dtype, padding: int, std: float
) -> torch.Tensor:  # fmt: skip
    """Keys or values (rows, heads, head_size), rows `padding` elements further apart than they need be."""
    buffer = make.normal((rows, heads * head_size + padding), dtype, std=std)
    stride = heads * head_size + padding
    return buffer.as_strided((rows, heads, head_size), (stride, head_size, 1))


def stored(make: Maker, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A cache with contents that must survive: normal values, or bytes of fp8 numbers below 2."""
    if dtype is torch.uint8:
        return make.integers(shape, dtype, low=0, high=64)
    return make.normal(shape, dtype)


def to_e4m3(tensor: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Bytes of `tensor / scale` as e4m3: fp32 division, saturation at 448, rounding to nearest even."""
    return (tensor.float() / scale.float()).clamp(-448.0, 448.0).to(torch.float8_e4m3fn).view(torch.uint8)
