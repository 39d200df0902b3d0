"""Norm and rotation of the query and key heads of a joint buffer, in place (vLLM `fused_qk_norm_rope`)."""

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
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, seq_len: int, heads: tuple[int, ...], head_dim: int, dtype: torch.dtype, is_neox: bool,
    eps: float = 1e-6, table_dtype: torch.dtype | None = None, std: float = 1.0,
) -> Call:  # fmt: skip
    """One call: `heads` of queries, keys and values; a table of the buffer's type or another."""
    qkv = make.normal((seq_len, sum(heads) * head_dim), dtype, std=std)
    weights = [make.normal((head_dim,), dtype, mean=1.0, std=0.3) for _ in range(2)]
    table = rope.table(make, 300, head_dim, table_dtype or dtype)
    positions = make.integers((seq_len,), torch.int64, low=0, high=300)
    return make.call(qkv, *heads, head_dim, eps, *weights, table, is_neox, positions)


def _rotated(a: Mapping[str, Any], magnitudes: bool) -> torch.Tensor:
    count = (a["num_heads_q"], a["num_heads_k"], a["num_heads_v"])
    q, k, v = a["qkv"].double().view(-1, sum(count), a["head_dim"]).split(count, dim=1)
    rows = a["cos_sin_cache"].double()[a["position_ids"]]
    turn = rope.magnitudes if magnitudes else rope.rotated
    q, k = (norm.normalised(x, a[w], a["eps"]) for x, w in ((q, "q_weight"), (k, "k_weight")))
    return torch.cat([turn(x, rows, a["is_neox"]) for x in (q, k)] + [v], 1).view(a["qkv"].shape)


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """The buffer in float64."""
    return {"qkv": _rotated(arguments, magnitudes=False)}


def touched(**a: Any) -> dict[str, torch.Tensor]:
    """Values stay as they are."""
    mask = torch.ones_like(a["qkv"], dtype=torch.bool)
    mask[:, (a["num_heads_q"] + a["num_heads_k"]) * a["head_dim"] :] = False
    return {"qkv": mask}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of tokens and heads."""
    keys = rng.randint(1, 3)
    return {
        **params,
        "seq_len": rng.randint(1, params["seq_len"] + 3),
        "heads": [keys * rng.randint(1, 4), keys, rng.randint(1, 4)],
        "eps": round(rng.uniform(1e-6, 1e-3), 7),
    }


_HALVES = ("float16", "bfloat16")
_PAPER = grids.product(
    is_neox=(False, True), dtype=_HALVES, head_dim=(64, 128), heads=((4, 4, 4), (16, 16, 16), (32, 16, 8)),
    seq_len=(1, 71, 128, 1024, 5333),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "is_neox": (False, True), "dtype": _HALVES, "head_dim": (64, 128, 256), "eps": (1e-5, 1e-6, 1e-2),
    "table_dtype": ("float16", "bfloat16", "float32"), "std": (1.0, 0.01),
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["seq_len"] >= 1024),
        grids.pairwise(origin="extra", seq_len=(4, 71), heads=((16, 4, 4), (7, 1, 2)), **_AWKWARD),
    ),
    "quick": (grids.pairwise(seq_len=(1, 3, 5), heads=((1, 1, 1), (4, 2, 2), (3, 1, 2)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"seq_len": 2, "heads": (2, 1, 1), "head_dim": 64, "dtype": "float16", "is_neox": True},
            {"seq_len": 3, "heads": (2, 2, 1), "head_dim": 128, "dtype": "bfloat16", "is_neox": False},
            origin="paper",
        ),
    ),
}

OPERATOR = entry(
    "fused_qk_norm_rope(qkv: torch.Tensor, num_heads_q: int, num_heads_k: int, num_heads_v: int, head_dim: int, eps: float, "
    "q_weight: torch.Tensor, k_weight: torch.Tensor, cos_sin_cache: torch.Tensor, is_neox: bool, position_ids: "
    "torch.Tensor) -> None",
    build=build,
    oracle=oracle,
    touched=touched,
    grids=GRIDS,
    jitter=jitter,
    writes=("qkv",),
    compare=Close(scale=lambda a: _rotated(a, magnitudes=True)),
    description=(
        "Normalises and rotates, in place, every query and key head of a joint buffer: e = x * rsqrt(mean(x*x) + eps) * "
        "weight over the head, with q_weight or k_weight; then, with c = cos_sin_cache[position, i] and s = "
        "cos_sin_cache[position, d / 2 + i] for i < d / 2, a pair (a, b) of e becomes (a * c - b * s, b * c + a * s)."
    ),
    notes=(
        (
            "qkv is (tokens, (num_heads_q + num_heads_k + num_heads_v) * d), contiguous, fp16 or bf16: queries, keys, "
            "values side by side. Values keep their bits. d = head_dim is 64, 128 or 256. q_weight and k_weight are (d,) "
            "of qkv's type, cos_sin_cache (positions, d) of fp16, bf16 or fp32, position_ids (tokens,) int64."
        ),
        "is_neox: pair i is elements (i, i + d / 2); else (2 * i, 2 * i + 1). Compute in fp32 and round once.",
    ),
    family="rotary",
)
