"""Root-mean-square normalisation, then quantisation with a scale a token (vLLM `rms_norm_dynamic_per_token_quant`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families import norm, norm_quant
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, quant_dtype: torch.dtype, epsilon: float,
    use_residual: bool, values: str = "normal", bounded: bool = False,
) -> Call:  # fmt: skip
    """One call: input (tokens, hidden), weight, and scale_ub and residual where asked for."""
    x, weight, bound, residual = norm_quant.inputs(make, shape, dtype, values, quant_dtype, bounded, use_residual)
    return make.call(x, weight, epsilon, quant_dtype, bound, residual)


def oracle(
    input: torch.Tensor, weight: torch.Tensor, epsilon: float, quant_dtype: torch.dtype,
    scale_ub: torch.Tensor | None = None, residual: torch.Tensor | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Codes and scales, with all of a row in one group."""
    return norm_quant.answer(input, weight, epsilon, quant_dtype, input.shape[-1], scale_ub, residual)


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """As of every norm, with and without the options."""
    drawn = norm.jitter(rng, params)
    kept = {n: drawn[n] for n in (*params, "values") if n in drawn and n not in ("layout", "weight_mode")}
    return {**kept, "bounded": rng.random() < 0.5, "use_residual": rng.random() < 0.5}


HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32")
CODES = ("int8", "float8_e4m3fn")
_PAPER = grids.product(
    use_residual=(False, True), epsilon=(1e-6,), quant_dtype=("int8",), dtype=HALVES,
    shape=[(n, hidden) for hidden in (32, 512, 4096) for n in (1, 128, 1024, 5333)],
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": FLOATS, "quant_dtype": CODES, "use_residual": (False, True), "bounded": (False, True),
    "epsilon": (1e-6, 1e-2), "values": norm.VALUES,
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] * p["shape"][1] >= 1 << 19),
        grids.pairwise(
            origin="extra", shape=((1, 1), (7, 64), (83, 1025), (4096, 1027), (7, 5120), (3, 5137), (1, 16384)), **_AWKWARD
        ),
    ),
    "quick": (grids.pairwise(shape=((1, 1), (5, 64), (3, 1027), (7, 497), (2, 5137)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float16", "quant_dtype": "int8", "epsilon": 1e-6, "use_residual": True},
            {"shape": (2, 65), "dtype": "bfloat16", "quant_dtype": "float8_e4m3fn", "epsilon": 1e-6, "use_residual": False},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "rms_norm_dynamic_per_token_quant(input: torch.Tensor, weight: torch.Tensor, epsilon: float, quant_dtype: "
    "torch.dtype, scale_ub: torch.Tensor | None = None, residual: torch.Tensor | None = None) -> "
    "tuple[torch.Tensor, torch.Tensor]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("residual",),
    compare=norm_quant.COMPARE,
    description=(
        "Normalises each row by its root mean square and quantises it with one scale a row; returns (codes, scales). "
        + norm_quant.ROWS
        + "; the codes are of y."
    ),
    notes=(
        (
            "input and residual are (tokens, hidden) and contiguous, weight is (hidden,), all of one type: fp16, bf16 or "
            "fp32. quant_dtype is torch.int8 or torch.float8_e4m3fn. codes: (tokens, hidden) of quant_dtype, scales: "
            "(tokens, 1) fp32, both fresh. Only residual is written, and only where it is given."
        ),
        norm_quant.SCALES,
        norm_quant.JUDGED,
    ),
    family="rms_norm_quant",
    policy=Policy(lossy_copy=False),
)
