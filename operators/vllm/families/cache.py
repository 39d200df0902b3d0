"""Key and value caches of paged attention: slots, source rows and 8-bit stores."""

from __future__ import annotations

import random
from typing import Any

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


def from_e4m3(stored: torch.Tensor, scale: torch.Tensor | float, dtype: torch.dtype) -> torch.Tensor:
    """Numbers of e4m3 bytes times `scale`: an fp32 product, rounded to `dtype`."""
    return (stored.view(torch.float8_e4m3fn).float() * scale).to(dtype)


FP8_CACHES = (
    "kv_cache_dtype 'auto': the caches have the type of key (fp16, bf16, fp32), the scales are ignored. 'fp8' and "
    "'fp8_e4m3': the caches are uint8 and hold e4m3 numbers, float32(x) / scale by IEEE division, saturated at 448, "
    "rounded to nearest even. k_scale and v_scale are one-element fp32 tensors."
)

FLASH = ("nhd", "hnd", "joint")
"""Layouts of caches (blocks, block_size, heads, head_size): as they are, with heads outside the block's tokens, and
both caches in one buffer (blocks, 2, block_size, heads, head_size)."""


def flash(
    make: Maker, blocks: int, block_size: int, heads: int, head_size: int, dtype: torch.dtype, layout: str
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """The two caches in a layout of `FLASH`.

    Raises:
        ValueError: the layout is unknown.
    """
    if layout == "joint":
        both = stored(make, (blocks, 2, block_size, heads, head_size), dtype)
        return both[:, 0], both[:, 1]
    if layout == "hnd":
        shape = (blocks, heads, block_size, head_size)
        return stored(make, shape, dtype).transpose(1, 2), stored(make, shape, dtype).transpose(1, 2)
    if layout != "nhd":
        raise ValueError(f"unknown layout {layout!r}: use one of {', '.join(FLASH)}")
    shape = (blocks, block_size, heads, head_size)
    return stored(make, shape, dtype), stored(make, shape, dtype)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of tokens, heads and blocks, another head and block size, padded rows, skipped slots."""
    tokens = max(1, params["tokens"] + rng.randint(-max(2, params["tokens"] // 4), max(2, params["tokens"] // 4)))
    block_size = rng.choice((4, 8, 16, 32))
    return {
        **params,
        "tokens": tokens,
        "heads": rng.randint(1, max(2, params["heads"])),
        "head_size": 16 * rng.randint(1, max(2, params["head_size"] // 16)),
        "block_size": block_size,
        "blocks": -(-tokens // block_size) + rng.randint(1, 3),
        "slots": rng.choice(("all", "some")),
        "extra_rows": rng.randint(0, 4),
        "padding": rng.choice((1, 16, 23)),
    }
