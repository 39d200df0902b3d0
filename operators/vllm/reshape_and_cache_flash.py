"""Scatter of keys and values into caches of whole tokens (vLLM `reshape_and_cache_flash`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families import cache
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, tokens: int, heads: int, head_size: int, blocks: int, block_size: int, dtype: torch.dtype,
    kv_cache_dtype: str = "auto", slots: str = "all", extra_rows: int = 0, padding: int = 0, layout: str = "nhd",
    std: float = 1.0,
) -> Call:  # fmt: skip
    """One call: `tokens` slots, keys and values with `extra_rows` more rows, `padding` elements between rows, caches
    of the keys' type or of bytes in one of `cache.FLASH`."""
    cached = dtype if kv_cache_dtype == "auto" else torch.uint8
    key = cache.source(make, tokens + extra_rows, heads, head_size, dtype, padding, std)
    value = cache.source(make, tokens + extra_rows, heads, head_size, dtype, 2 * padding, std)
    keys, values = cache.flash(make, blocks, block_size, heads, head_size, cached, layout)
    mapping = cache.slot_mapping(make, tokens, blocks, block_size, slots)
    scales = [make.uniform((1,), torch.float32, low=0.3, high=2.0) for _ in range(2)]
    return make.call(key, value, keys, values, mapping, kv_cache_dtype, *scales)


def oracle(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
    slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: torch.Tensor,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Both caches after the call."""
    keys, values = key_cache.clone(), value_cache.clone()
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot < 0:
            continue
        block, inside = divmod(slot, key_cache.shape[1])
        k, v = key[token], value[token]
        if kv_cache_dtype != "auto":
            k, v = cache.to_e4m3(k, k_scale), cache.to_e4m3(v, v_scale)
        keys[block, inside], values[block, inside] = k, v
    return {"key_cache": keys, "value_cache": values}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, padded rows, skipped slots, another layout of the caches."""
    return {**cache.jitter(rng, params), "layout": rng.choice(cache.FLASH)}


GEOMETRY = "tokens,heads,head_size,blocks,block_size"
PUBLISHED = (
    (4, 8, 64, 16, 16), (32, 8, 64, 32, 16), (128, 8, 64, 64, 16), (128, 16, 128, 64, 16), (256, 8, 64, 64, 16),
    (256, 16, 128, 64, 16), (512, 16, 64, 128, 16), (512, 32, 128, 128, 16), (1024, 16, 128, 256, 16),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32"),
    "kv_cache_dtype": ("auto", "fp8", "fp8_e4m3"),
    "slots": ("all", "some"),
    "extra_rows": (0, 3),
    "padding": (0, 5, 16),
    "layout": cache.FLASH,
    "std": (1.0, 0.01, 200.0),
}
_SKIPPED = {GEOMETRY: (3, 2, 32, 2, 4), "dtype": "float16", "slots": "none"}
_ODD = {GEOMETRY: (2, 3, 20, 1, 4), "dtype": "float32"}
"""Lanes past the last row's end are past the end of the keys."""
_HALVES = ("float16", "bfloat16")
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 128]), dtype=_HALVES),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 128]), dtype=_HALVES),
        grids.pairwise(
            origin="extra",
            **{GEOMETRY: ((42, 8, 64, 16, 8), (42, 8, 80, 16, 16), (42, 8, 256, 8, 32), (1, 1, 1, 1, 1)), **_AWKWARD},
        ),
        grids.points(_SKIPPED, _ODD),
    ),
    "quick": (
        grids.pairwise(
            **{GEOMETRY: ((1, 1, 1, 1, 1), (5, 2, 64, 3, 8), (4, 14, 80, 2, 16), (4, 1, 256, 2, 4)), **_AWKWARD}
        ),
        grids.points(_SKIPPED, _ODD),
    ),
    "smoke": (
        grids.points(
            {GEOMETRY: (3, 2, 32, 2, 4), "dtype": "float16", "slots": "some", "padding": 5, "layout": "hnd"},
            {GEOMETRY: (4, 1, 16, 2, 8), "dtype": "bfloat16", "kv_cache_dtype": "fp8"},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "reshape_and_cache_flash(key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: "
    "torch.Tensor, slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("key_cache", "value_cache"),
    compare=Exact(),
    description=(
        "Stores the key and value of each token in its slot of the paged caches: with block = slot // block_size and "
        "offset = slot % block_size, key_cache[block, offset] = key[token] and value_cache[block, offset] = value[token]."
    ),
    notes=(
        (
            "key_cache and value_cache are (blocks, block_size, heads, head_size) with arbitrary strides but the last, "
            "which is 1; both have the same ones:\n"
            "  NHD   block -> offset -> head -> head_size        in memory\n"
            "  HND   block -> head -> offset -> head_size\n"
            "  joint block -> (key, value) -> offset -> head -> head_size, of which both caches are views"
        ),
        (
            "key and value are (rows, heads, head_size), dense except for the stride between rows, which may be larger "
            "and differs between the two. slot_mapping (int64) says how many rows are used; rows may be more. A "
            "negative slot is skipped. Slots are distinct. Everything else in the caches keeps its bits."
        ),
        cache.FP8_CACHES,
    ),
    family="reshape_and_cache",
    policy=Policy(lossy_copy=False),
)
