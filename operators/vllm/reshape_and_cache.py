"""Scatter of keys and values into paged caches (vLLM `reshape_and_cache`)."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families import cache


def build(
    make: Maker, *, tokens: int, heads: int, head_size: int, blocks: int, block_size: int, dtype: torch.dtype,
    kv_cache_dtype: str = "auto", slots: str = "all", extra_rows: int = 0, padding: int = 0, std: float = 1.0,
) -> Call:  # fmt: skip
    """One call: `tokens` slots, keys and values with `extra_rows` more rows, `padding` elements between rows, and
    caches of the keys' type (`auto`) or of bytes (`fp8`, `fp8_e4m3`)."""
    cached = dtype if kv_cache_dtype == "auto" else torch.uint8
    x = 16 // cached.itemsize
    key = cache.source(make, tokens + extra_rows, heads, head_size, dtype, padding, std)
    value = cache.source(make, tokens + extra_rows, heads, head_size, dtype, 2 * padding, std)
    key_cache = cache.stored(make, (blocks, heads, head_size // x, block_size, x), cached)
    value_cache = cache.stored(make, (blocks, heads, head_size, block_size), cached)
    mapping = cache.slot_mapping(make, tokens, blocks, block_size, slots)
    scales = [make.uniform((1,), torch.float32, low=0.3, high=2.0) for _ in range(2)]
    return make.call(key, value, key_cache, value_cache, mapping, kv_cache_dtype, *scales)


def oracle(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
    slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: torch.Tensor,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Both caches after the call."""
    keys, values = key_cache.clone(), value_cache.clone()
    block_size, x = key_cache.shape[3], key_cache.shape[4]
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot < 0:
            continue
        block, inside = divmod(slot, block_size)
        k, v = key[token], value[token]
        if kv_cache_dtype != "auto":
            k, v = cache.to_e4m3(k, k_scale), cache.to_e4m3(v, v_scale)
        keys[block, :, :, inside, :] = k.reshape(k.shape[0], -1, x)
        values[block, :, :, inside] = v
    return {"key_cache": keys, "value_cache": values}


GEOMETRY = "tokens,heads,head_size,blocks,block_size"
PUBLISHED = (
    (4, 8, 64, 16, 16), (32, 8, 64, 32, 16), (128, 8, 64, 64, 16), (128, 16, 128, 64, 16), (256, 8, 64, 64, 16),
    (256, 16, 128, 64, 16), (512, 16, 64, 128, 16), (512, 32, 128, 128, 16), (1024, 16, 128, 256, 16),
)  # fmt: skip
_HALVES = ("float16", "bfloat16")
_TIMED: dict[str, Any] = {GEOMETRY: [g for g in PUBLISHED if g[0] >= 128], "dtype": _HALVES}
_UNTIMED: dict[str, Any] = {GEOMETRY: [g for g in PUBLISHED if g[0] < 128], "dtype": _HALVES}
_AWKWARD: dict[str, Any] = {
    "dtype": ("float16", "bfloat16", "float32"),
    "kv_cache_dtype": ("auto", "fp8", "fp8_e4m3"),
    "slots": ("all", "some"),
    "extra_rows": (0, 3),
    "padding": (0, 5, 16),
    "std": (1.0, 0.01, 200.0),
}
_SKIPPED = {GEOMETRY: (3, 2, 32, 2, 4), "dtype": "float16", "slots": "none"}

GRIDS = {
    "paper": (
        grids.product(timed=True, **_TIMED),
        grids.product(**_UNTIMED),
        grids.pairwise(
            origin="extra",
            **{GEOMETRY: ((42, 8, 64, 16, 8), (42, 8, 80, 16, 16), (42, 8, 256, 8, 32), (1, 1, 16, 1, 1)), **_AWKWARD},
        ),
        grids.points(_SKIPPED),
    ),
    "quick": (
        grids.pairwise(
            **{GEOMETRY: ((1, 1, 16, 1, 1), (5, 2, 64, 3, 8), (7, 3, 80, 2, 16), (4, 1, 256, 2, 4)), **_AWKWARD}
        ),
        grids.points(_SKIPPED),
    ),
    "smoke": (
        grids.points(
            {GEOMETRY: (3, 2, 32, 2, 4), "dtype": "float16", "slots": "some", "padding": 5},
            {GEOMETRY: (4, 1, 16, 2, 8), "dtype": "bfloat16", "kv_cache_dtype": "fp8"},
            origin="paper",
        ),
    ),
}

OPERATOR = Operator(
    source="vllm",
    name="reshape_and_cache",
    interfaces=(
        Interface(
            name="reshape_and_cache",
            build=build,
            grids=GRIDS,
            jitter=cache.jitter,
            writes=("key_cache", "value_cache"),
            signature=(
                "reshape_and_cache(key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, "
                "value_cache: torch.Tensor, slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, "
                "v_scale: torch.Tensor) -> None"
            ),
            returns_written=True,
            oracle=oracle,
        ),
    ),
    compare=Exact(),
    description=(
        "Stores the key and value of each token in its slot of the paged caches: with block = slot // block_size and "
        "offset = slot % block_size, key_cache[block, h, d // x, offset, d % x] = key[token, h, d] and "
        "value_cache[block, h, d, offset] = value[token, h, d]."
    ),
    notes=(
        (
            "key and value are (rows, heads, head_size), dense except for the stride between rows, which may be larger "
            "and differs between the two. slot_mapping (int64) says how many rows are used; rows may be more. A "
            "negative slot is skipped. Slots are distinct. Everything else in the caches keeps its bits."
        ),
        (
            "key_cache is (blocks, heads, head_size / x, block_size, x) with x = 16 / (bytes of a cache element), "
            "value_cache is (blocks, heads, head_size, block_size), both contiguous."
        ),
        (
            "kv_cache_dtype 'auto': the caches have the type of key (fp16, bf16, fp32), the scales are ignored. 'fp8' "
            "and 'fp8_e4m3': the caches are uint8 and hold e4m3 numbers, float32(x) / scale by IEEE division, saturated "
            "at 448, rounded to nearest even. k_scale and v_scale are one-element fp32 tensors."
        ),
    ),
    family="reshape_and_cache",
    policy=Policy(lossy_copy=False),
)
