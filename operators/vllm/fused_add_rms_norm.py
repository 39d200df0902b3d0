"""Residual addition and root-mean-square normalisation in place (vLLM `fused_add_rms_norm`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import UNIT, Close
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Each

SLACK = 8.0
LAYOUTS = ("contiguous", "sliced", "offset")


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, epsilon: float, weight_mode: str = "randn",
    values: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One call: input (..., hidden) with rows at one stride, residual of the same shape, weight (hidden,)."""
    source = norm.rows(make, shape, dtype, values, layout)
    residual = norm.rows(make, shape, dtype, values, "contiguous")
    return make.call(source, residual, norm.weight(make, shape[-1], dtype, weight_mode), epsilon)


def oracle(
    input: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, epsilon: float
) -> dict[str, torch.Tensor]:
    """Both outputs in float64; the norm is of the rounded sum."""
    total = input.double() + residual.double()
    return {"residual": total, "input": norm.normalised(total.to(input.dtype), weight, epsilon)}


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|answer|, and what lets the intermediate rounding of a subnormal, times the weight, through."""
    answer = oracle(**{n: arguments[n] for n in ("input", "residual", "weight", "epsilon")})["input"].abs()
    dtype: torch.dtype = arguments["input"].dtype
    half_step = torch.finfo(dtype).smallest_normal * UNIT[dtype]
    weight: torch.Tensor = arguments["weight"].double().abs()
    return answer + weight * (half_step / (SLACK * UNIT[torch.float32] * 4))


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """As of every norm, in the layouts that may be written."""
    return {**norm.jitter(rng, params), "layout": rng.choice(LAYOUTS)}


FLOATS = ("float16", "bfloat16", "float32")
_PAPER = grids.product(
    epsilon=(1e-6, 1e-5, 1e-4),
    dtype=FLOATS,
    shape=[(n, hidden) for hidden in (32, 497, 512, 4096, 8192) for n in (1, 71, 128, 1024, 5333)],
)
_AWKWARD: dict[str, Any] = {
    "dtype": FLOATS,
    "weight_mode": ("ones", "randn"),
    "epsilon": (1e-6, 1e-4, 1e-2),
    "values": norm.VALUES,
    "layout": LAYOUTS,
}
_SPECIAL = grids.points({"shape": (9, 40), "dtype": "float16", "epsilon": 1e-5, "values": "special"})
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] * p["shape"][1] >= 1 << 20),
        grids.pairwise(
            origin="extra", shape=((7, 8), (83, 768), (83, 769), (7, 5120), (4096, 5125), (3, 7, 768), (1, 16384)), **_AWKWARD
        ),
        _SPECIAL,
    ),
    "quick": (grids.pairwise(shape=((1, 32), (5, 497), (3, 1), (2, 3, 769), (2, 5125)), **_AWKWARD), _SPECIAL),
    "smoke": (
        grids.points(
            {"shape": (3, 20), "dtype": "float16", "epsilon": 1e-6, "layout": "sliced"},
            {"shape": (2, 33), "dtype": "float32", "epsilon": 1e-5},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "fused_add_rms_norm(input: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("input", "residual"),
    compare=Each({"input": Close(scale=scale, slack=SLACK, intermediate=1.0)}, Close()),
    description=(
        "Adds the residual and normalises, both in place: z = r(input + residual); residual becomes z; input becomes "
        "r(r(z * rsqrt(mean(z*z) + epsilon)) * weight), with the mean over the last dimension, r the rounding to the "
        "tensors' type and everything else in fp32."
    ),
    notes=(
        "input and residual are both written. The norm is taken of the rounded sum z, not of the unrounded one.",
        (
            "input has two or more dimensions; its last one is dense and its rows lie at the one stride input.stride(-2), "
            "which may exceed hidden. residual has the same shape and is contiguous, weight is (hidden,). All three have "
            "the same type: fp16, bf16 or fp32."
        ),
    ),
    family="rms_norm",
)
