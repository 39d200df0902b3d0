"""Scatter of latent keys and rotary parts into one paged cache (vLLM `concat_and_cache_mla`)."""

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

SMALLEST = torch.finfo(torch.float32).smallest_normal


def build(
    make: Maker, *, tokens: int, rank: int, rope: int, blocks: int, block_size: int, dtype: torch.dtype,
    kv_cache_dtype: str = "auto", slots: str = "all", extra_rows: int = 0, padding: int = 0, gap: int = 0,
    std: float = 1.0,
) -> Call:  # fmt: skip
    """One call: `tokens` slots; kv_c and k_pe with `extra_rows` more rows and `padding` elements between rows; `gap`
    more slots between the cache's blocks."""
    tiled = kv_cache_dtype == "fp8_ds_mla"
    width = 656 if tiled else rank + rope
    kv_c = cache.source(make, tokens + extra_rows, 1, rank, dtype, padding, std)[:, 0]
    k_pe = cache.source(make, tokens + extra_rows, 1, rope, dtype, 2 * padding, std)[:, 0]
    if tiled:
        kv_c[:1, :128] = 0
    stored = cache.stored(make, (blocks, block_size + gap, width), dtype if kv_cache_dtype == "auto" else torch.uint8)
    mapping = cache.slot_mapping(make, tokens, blocks, block_size, slots)
    scale = make.uniform((1,), torch.float32, low=0.05, high=2.0)
    return make.call(kv_c, k_pe, stored[:, :block_size], mapping, kv_cache_dtype, scale)


def oracle(
    kv_c: torch.Tensor, k_pe: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor, kv_cache_dtype: str,
    scale: torch.Tensor,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """The cache after the call."""
    stored = kv_cache.clone()
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot < 0:
            continue
        entry = torch.cat((kv_c[token], k_pe[token]))
        if kv_cache_dtype == "fp8_ds_mla":
            entry = packed(kv_c[token], k_pe[token])
        elif kv_cache_dtype != "auto":
            entry = cache.to_e4m3(entry, scale)
        block, inside = divmod(slot, kv_cache.shape[1])
        stored[block, inside] = entry
    return {"kv_cache": stored}


def packed(latent: torch.Tensor, rope: torch.Tensor) -> torch.Tensor:
    """The 656 bytes of a slot: 512 codes in tiles of 128, the tiles' four scales, the rotary part as it is."""
    tiles = latent.float().view(4, 128)
    scales = (tiles.abs().amax(1, keepdim=True) / 448.0).clamp(min=SMALLEST)
    parts = (cache.to_e4m3(tiles, scales), scales.view(torch.uint8), rope.contiguous().view(torch.uint8))
    return torch.cat([p.reshape(-1) for p in parts])


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes (the ranks of tiles are fixed), padded rows, skipped slots, gaps between blocks."""
    sizes = cache.jitter(rng, {**params, "heads": 1, "head_size": 64})
    fixed = params.get("kv_cache_dtype") == "fp8_ds_mla"
    ranks = {} if fixed else {"rank": 16 * rng.randint(1, 9), "rope": 8 * rng.randint(1, 9)}
    kept = {n: v for n, v in sizes.items() if n not in ("heads", "head_size")}
    return {**kept, **ranks, "gap": rng.randint(0, 2)}


GEOMETRY = "tokens,rank,rope,blocks,block_size"
PUBLISHED = (
    (4, 512, 64, 16, 16), (32, 512, 64, 32, 16), (128, 256, 64, 64, 16), (128, 256, 128, 64, 16), (256, 256, 64, 64, 16),
    (256, 512, 64, 64, 16), (512, 256, 128, 128, 16), (512, 512, 64, 128, 16), (1024, 512, 64, 256, 16),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "slots": ("all", "some"),
    "extra_rows": (0, 3),
    "padding": (0, 5, 16),
    "gap": (0, 1),
    "std": (1.0, 0.01, 200.0),
}
_PLAIN: dict[str, Any] = {"dtype": ("float16", "bfloat16", "float32"), "kv_cache_dtype": ("auto", "fp8", "fp8_e4m3")}
_TILED: dict[str, Any] = {"dtype": ("float16", "bfloat16"), "kv_cache_dtype": ("fp8_ds_mla",)}
_SKIPPED = {GEOMETRY: (3, 64, 16, 2, 4), "dtype": "float16", "slots": "none"}
_HALVES = ("float16", "bfloat16")
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 128]), dtype=_HALVES),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 128]), dtype=_HALVES),
        grids.pairwise(
            origin="extra", **axes(GEOMETRY, ((42, 512, 64, 8, 16), (42, 96, 24, 2, 64), (1, 1, 1, 1, 1))), **_PLAIN, **_AWKWARD
        ),
        grids.pairwise(origin="extra", **axes(GEOMETRY, ((42, 512, 64, 8, 16), (300, 512, 64, 5, 64))), **_TILED, **_AWKWARD),
        grids.points(_SKIPPED),
    ),
    "quick": (
        grids.pairwise(**axes(GEOMETRY, ((5, 512, 64, 1, 16), (7, 40, 24, 2, 4), (1, 1, 1, 1, 1))), **_PLAIN, **_AWKWARD),
        grids.pairwise(**axes(GEOMETRY, ((4, 512, 64, 3, 4), (2, 512, 64, 1, 8))), **_TILED, **_AWKWARD),
        grids.points(_SKIPPED),
    ),
    "smoke": (
        grids.points(
            {GEOMETRY: (3, 32, 8, 2, 4), "dtype": "float16", "slots": "some", "padding": 5},
            {GEOMETRY: (2, 512, 64, 2, 8), "dtype": "bfloat16", "kv_cache_dtype": "fp8_ds_mla"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "concat_and_cache_mla(kv_c: torch.Tensor, k_pe: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor, "
    "kv_cache_dtype: str, scale: torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("kv_cache",),
    compare=Exact(),
    description=(
        "Stores the latent vector kv_c (rank R) and the rotary part k_pe (size P) of each token side by side in its slot "
        "of a paged cache: with block = slot // block_size and offset = slot % block_size, kv_cache[block, offset, :R] = "
        "kv_c[token] and kv_cache[block, offset, R:] = k_pe[token]."
    ),
    notes=(
        (
            "kv_c is (rows, R), k_pe is (rows, P), both with an arbitrary stride between rows. slot_mapping (int64) says "
            "how many rows are used. A negative slot is skipped. Slots are distinct. kv_cache is (blocks, block_size, "
            "width); the stride between blocks may exceed block_size * width, slots are dense. Everything else in it "
            "keeps its bits."
        ),
        (
            "kv_cache_dtype 'auto': the cache has the inputs' type (fp16, bf16, fp32), width R + P, scale is ignored. "
            "'fp8' and 'fp8_e4m3': the cache is uint8, width R + P, and holds e4m3 numbers: float32(x) / scale by IEEE "
            "division, saturated at 448, rounded to nearest even; scale is a one-element fp32 tensor."
        ),
        (
            "'fp8_ds_mla': inputs are fp16 or bf16, R = 512, P = 64; the cache is uint8, and a slot's 656 bytes are\n"
            "  [0, 512)    e4m3 codes of kv_c, four tiles of 128: float32(x) / t of its tile, IEEE division\n"
            "  [512, 528)  the four tile scales t, fp32: max(largest |x| / 448, 2**-126), IEEE division\n"
            "  [528, 656)  k_pe, its 16-bit values as they are\n"
            "and scale is ignored."
        ),
    ),
    family="cache_mla",
    policy=Policy(lossy_copy=False),
)
