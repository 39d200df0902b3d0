"""Root-mean-square normalisation, then quantisation with a scale a group of columns (vLLM `rms_norm_per_block_quant`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families import norm, norm_quant
from kgb_gym.operators.vllm.families.entry import entry


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, quant_dtype: torch.dtype, epsilon: float,
    group_size: tuple[int, int], is_scale_transposed: bool, use_residual: bool = False, values: str = "normal",
    bounded: bool = False,
) -> Call:  # fmt: skip
    """One call: input (tokens, hidden), weight, and scale_ub and residual where asked for."""
    x, weight, bound, residual = norm_quant.inputs(make, shape, dtype, values, quant_dtype, bounded, use_residual)
    return make.call(x, weight, epsilon, quant_dtype, list(group_size), bound, residual, is_scale_transposed)


def oracle(
    input: torch.Tensor, weight: torch.Tensor, epsilon: float, quant_dtype: torch.dtype, group_size: list[int],
    scale_ub: torch.Tensor | None = None, residual: torch.Tensor | None = None, is_scale_transposed: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Codes and scales; transposed ones have the same shape and lie column by column."""
    answer = norm_quant.answer(input, weight, epsilon, quant_dtype, group_size[1], scale_ub, residual)
    codes, scales = answer["return"]
    if is_scale_transposed:
        scales = Target("", *(t.T.contiguous().T for t in (scales.reference, scales.precise)))
    return {**answer, "return": (codes, scales)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other rows, other numbers of groups, with and without the options."""
    group = rng.choice((64, 128))
    return {
        **params,
        "shape": [params["shape"][0] + rng.randint(0, 3), group * rng.randint(1, max(3, params["shape"][1] // group))],
        "group_size": [rng.choice((1, group)), group],
        "epsilon": round(rng.uniform(1e-6, 1e-3), 7),
        "bounded": rng.random() < 0.5,
        "use_residual": rng.random() < 0.5,
        "is_scale_transposed": rng.random() < 0.5,
    }


FLOATS = ("float16", "bfloat16", "float32")
CODES = ("int8", "float8_e4m3fn")
_PAPER = grids.product(
    is_scale_transposed=(False, True), group_size=((128, 128), (64, 64)), quant_dtype=CODES, epsilon=(1e-5, 1e-6),
    dtype=("float16",), shape=((1, 128), (128, 256), (1024, 4096), (4096, 8192)),
)  # fmt: skip
_AWKWARD: dict[str, Any] = {
    "dtype": FLOATS, "quant_dtype": CODES, "group_size": ((128, 128), (1, 64)), "is_scale_transposed": (False, True),
    "use_residual": (False, True), "bounded": (False, True), "epsilon": (1e-6, 1e-2), "values": norm.VALUES,
}  # fmt: skip
GRIDS = {
    "paper": (
        *norm.timed(_PAPER, lambda p: p["shape"][0] >= 1024),
        grids.pairwise(origin="extra", shape=((7, 128), (83, 768), (4096, 1152), (7, 5120), (1, 16384)), **_AWKWARD),
    ),
    "quick": (grids.pairwise(shape=((1, 128), (3, 384), (5, 640), (2, 2176)), **_AWKWARD),),
    "smoke": (
        grids.points(
            {"shape": (3, 256), "dtype": "float16", "quant_dtype": "int8", "epsilon": 1e-6, "group_size": (128, 128),
             "is_scale_transposed": True},
            {"shape": (2, 192), "dtype": "bfloat16", "quant_dtype": "float8_e4m3fn", "epsilon": 1e-6,
             "group_size": (64, 64), "is_scale_transposed": False, "use_residual": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "rms_norm_per_block_quant(input: torch.Tensor, weight: torch.Tensor, epsilon: float, quant_dtype: torch.dtype, "
    "group_size: list[int], scale_ub: torch.Tensor | None = None, residual: torch.Tensor | None = None, "
    "is_scale_transposed: bool = False) -> tuple[torch.Tensor, torch.Tensor]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    writes=("residual",),
    compare=norm_quant.COMPARE,
    description=(
        "Normalises each row by its root mean square and quantises it with one scale for every group_size[1] columns; "
        "returns (codes, scales). " + norm_quant.ROWS + "; the codes are of y."
    ),
    notes=(
        (
            "input and residual are (tokens, hidden) and contiguous, weight is (hidden,), all of one type: fp16, bf16 or "
            "fp32. Of group_size only the second entry g counts, 64 or 128; it divides hidden. quant_dtype is torch.int8 "
            "or torch.float8_e4m3fn. codes: (tokens, hidden) of quant_dtype; scales: (tokens, hidden / g) fp32, "
            "contiguous, or with strides (1, tokens) where is_scale_transposed. Only residual is written, and only where "
            "it is given."
        ),
        norm_quant.SCALES,
        norm_quant.JUDGED,
    ),
    family="rms_norm_quant",
    policy=Policy(lossy_copy=False),
    strides=True,
)
