"""Rotary position embedding of queries and keys in place (vLLM `rotary_embedding`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm, rope
from kgb_gym.operators.vllm.families.entry import axes, entry
from kgb_gym.operators.vllm.families.judging import Each

LAYOUTS = ("flat", "heads", "sliced", "batched")


def build(
    make: Maker, *, tokens: int, max_position: int, num_heads: int, head_size: int, dtype: torch.dtype, is_neox: bool,
    key_is_none: bool = False, kv_heads: int = 0, rotated: int = 0, layout: str = "flat",
    special: bool = False,
) -> Call:  # fmt: skip
    """One call: query and key `flat` (tokens, heads * size), by `heads`, `sliced` from one buffer, or `batched` by
    two; `kv_heads` 0: as many as query heads; `rotated` 0: whole heads. `special`: some elements are NaN.

    Raises:
        ValueError: the layout is unknown.
    """
    kv_heads = kv_heads or num_heads
    table = rope.table(make, max_position, rotated or head_size, dtype)
    positions = make.integers((tokens,), torch.int64, low=0, high=max_position)
    positions[:1] = max_position - 1
    query, key = (make.normal((tokens, h * head_size), dtype) for h in (num_heads, kv_heads))
    if special:
        query, key = (make.sprinkle(t, (float("nan"),)) for t in (query, key))
    if layout == "sliced":
        both = make.normal((tokens, (num_heads + kv_heads) * head_size + 16), dtype)
        query, key = both[:, : num_heads * head_size], both[:, num_heads * head_size : -16]
    elif layout == "heads":
        query, key = (t.view(tokens, -1, head_size) for t in (query, key))
    elif layout == "batched":
        positions = positions.view(1, tokens)
        query, key = (t.view(1, tokens, -1) for t in (query, key))
    elif layout != "flat":
        raise ValueError(f"unknown layout {layout!r}: use one of {', '.join(LAYOUTS)}")
    return make.call(positions, query, None if key_is_none else key, head_size, table, is_neox)


def oracle(
    positions: torch.Tensor, query: torch.Tensor, key: torch.Tensor | None, head_size: int, cos_sin_cache: torch.Tensor,
    is_neox: bool,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Both tensors in float64."""
    rows = cos_sin_cache.double()[positions.reshape(-1)]
    answer = {}
    for name, tensor in (("query", query), ("key", key)):
        if tensor is not None:
            heads = tensor.double().reshape(positions.numel(), -1, head_size)
            answer[name] = rope.rotated(heads, rows, is_neox).reshape(tensor.shape)
    return answer


def _scale(name: str) -> Any:
    def scale(a: Mapping[str, Any]) -> torch.Tensor:
        heads = a[name].double().reshape(a["positions"].numel(), -1, a["head_size"])
        rows = a["cos_sin_cache"].double()[a["positions"].reshape(-1)]
        return rope.magnitudes(heads, rows, a["is_neox"]).reshape(a[name].shape)

    return scale


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes and layouts, part of the heads rotated."""
    size = 16 * rng.randint(1, 5)
    return {
        **params,
        "tokens": rng.randint(1, params["tokens"] + 4),
        "max_position": params["max_position"] + rng.randint(0, 9),
        "num_heads": 2 * rng.randint(1, 3),
        "kv_heads": rng.choice((1, 2)),
        "head_size": size,
        "rotated": rng.choice((0, 8, size)),
        "layout": rng.choice(LAYOUTS),
    }


FLOATS = ("float16", "bfloat16", "float32")
_PAPER = grids.product(
    is_neox=(True, False), key_is_none=(True, False), dtype=FLOATS, head_size=(32, 64), num_heads=(1, 4, 16),
    **axes("tokens,max_position", ((1, 32), (71, 497), (128, 512), (1024, 4096), (5333, 8192))),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "is_neox": (True, False), "key_is_none": (False, True), "dtype": FLOATS, "layout": LAYOUTS, "rotated": (0, 16, 32),
}  # fmt: skip
_SPECIAL = grids.points({
    "tokens": 3, "max_position": 20, "num_heads": 2, "head_size": 32, "dtype": "float32", "is_neox": True, "rotated": 16,
    "special": True,
})  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["tokens"] >= 1024),
        grids.pairwise(
            origin="extra", **axes("tokens,max_position", ((55, 8192), (1, 1), (4096, 64))), head_size=(64, 80, 120, 256),
            **axes("num_heads,kv_heads", ((17, 17), (8, 2), (7, 1))), **_AWKWARD,
        ),
        _SPECIAL,
    ),
    "quick": (
        grids.pairwise(
            **axes("tokens,max_position", ((5, 33), (1, 1), (3, 100))), head_size=(32, 80, 120),
            **axes("num_heads,kv_heads", ((1, 1), (4, 2), (7, 1))), **_AWKWARD,
        ),
        _SPECIAL,
    ),
    "smoke": (
        grids.points(
            {"tokens": 3, "max_position": 20, "num_heads": 2, "head_size": 32, "dtype": "float16", "is_neox": True},
            {"tokens": 2, "max_position": 9, "num_heads": 4, "kv_heads": 2, "head_size": 64, "dtype": "float32",
             "is_neox": False, "rotated": 32, "layout": "sliced"},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "rotary_embedding(positions: torch.Tensor, query: torch.Tensor, key: torch.Tensor | None, head_size: int, "
    "cos_sin_cache: torch.Tensor, is_neox: bool) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("query", "key"),
    compare=Each({n: Close(scale=_scale(n)) for n in ("query", "key")}),
    description=(
        "Rotates, in place, pairs of elements of every query and key head by the angles of the token's position: with c "
        "= cos_sin_cache[position, i] and s = cos_sin_cache[position, r / 2 + i] for i < r / 2, a pair (x, y) becomes (x "
        "* c - y * s, y * c + x * s)."
    ),
    notes=(
        (
            "r = cos_sin_cache.shape[1] is at most head_size. is_neox: pair i is elements (i, i + r / 2) of the head; else "
            "(2 * i, 2 * i + 1). Elements from r on stay as they are."
        ),
        (
            "positions is int64, (tokens,) or (batch, tokens). query and key are (..., heads * head_size), or (tokens, "
            "heads, head_size), with dense heads; the stride between tokens may be larger, and both may be slices of one "
            "buffer. key may have fewer heads, or be None. cos_sin_cache is (positions, r) of their type (fp16, bf16, "
            "fp32). query and key are written. Compute in fp32 and round once."
        ),
    ),
    family="rotary",
)
