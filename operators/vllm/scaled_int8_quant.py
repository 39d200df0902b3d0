"""Quantisation of a matrix to int8, symmetric or with a zero point (vLLM `scaled_int8_quant`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Target
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import Policy
from kgb_gym.operators.vllm.families.entry import entry
from kgb_gym.operators.vllm.families.judging import Chosen, Codes, Each, Near, Whole, codes, value

TIE = 1e-3
"""How near a tie a zero point may fall either way."""


def build(
    make: Maker, *, shape: tuple[int, ...], dtype: torch.dtype, symmetric: bool, provide_scale: bool,
    std: float = 1.0, zero_point: int | None = None,
) -> Call:  # fmt: skip
    """One call: input (tokens, hidden); scale and, where it is not symmetric, azp, or neither. The first of several
    rows is zero where zeros have an answer."""
    x = make.normal(shape, dtype, mean=0.3 * std, std=std)
    if symmetric and shape[0] > 1:
        x[:1] = 0
    scale = make.uniform((1,), torch.float32, low=0.005 * std, high=0.05 * std) if provide_scale else None
    azp = None
    if provide_scale and not symmetric:
        azp = make.integers((1,), torch.int32, low=-100, high=100)
        if zero_point is not None:
            azp = make.full((1,), zero_point, torch.int32)
    return make.call(x, scale, azp, symmetric)


def oracle(
    input: torch.Tensor, scale: torch.Tensor | None = None, azp: torch.Tensor | None = None, symmetric: bool = True
) -> dict[str, Any]:  # fmt: skip
    """Codes, scale and zero point (None where symmetric)."""
    x = input.double()
    if scale is not None:
        shift = 0.0 if azp is None else azp.double()
        return {"return": (codes("", x / scale.double() + shift, torch.int8), scale, azp)}
    if symmetric:
        factor = x.abs().amax(1, keepdim=True) / 127
        quotient = torch.where(factor > 0, x / factor, 0.0)
        return {"return": (codes("", quotient, torch.int8), value("", factor), None)}
    factor, shift = asymmetric(x)
    zero = Target("", shift.round().int(), shift)
    return {"return": (codes("", x / factor + shift.round(), torch.int8), value("", factor), zero)}


def asymmetric(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales and unrounded zero points of rows, float64."""
    low, high = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
    factor = (high - low) / 255
    return factor, -128 - low / factor


def _compare(arguments: Mapping[str, Any]) -> Each:
    absolute: torch.Tensor | float = 0.0
    if not arguments["symmetric"] and arguments["scale"] is None:
        shift = asymmetric(arguments["input"].double())[1]
        # Where the zero point may fall either way, all codes of the row go with it.
        absolute = ((shift - shift.floor() - 0.5).abs() <= TIE).double()
    return Each({"return[0]": Codes(absolute=absolute), "return[1]": Near(2.0**-21), "return[2]": Whole(TIE)})


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another shape, any mode."""
    rows, hidden = params["shape"]
    return {
        **params,
        "shape": [rng.randint(1, rows + 3), max(2, hidden + rng.randint(-hidden // 4 - 2, hidden // 4 + 2))],
        "symmetric": rng.random() < 0.5,
        "provide_scale": rng.random() < 0.5,
    }


FLOATS = ("float16", "bfloat16", "float32")
_KINDS: dict[str, Any] = {"provide_scale": (False, True), "symmetric": (True, False), "dtype": FLOATS}
_AWKWARD: dict[str, Any] = {**_KINDS, "std": (1.0, 0.001, 100.0), "zero_point": (None, -255, 54)}
_FAINT = grids.points(
    {"shape": (3, 40), "dtype": "float32", "symmetric": True, "provide_scale": False, "std": 1e-12},
    {"shape": (3, 40), "dtype": "float32", "symmetric": True, "provide_scale": True, "std": 1e12},
)
# The published grid also gives azp where it contradicts `symmetric` or is ignored; those points are left out, and the
# largest shape has a pairwise covering instead of a product.
GRIDS = {
    "paper": (
        grids.product(shape=((1, 32), (71, 497), (128, 512)), **_KINDS),
        grids.product(shape=((1024, 4096),), timed=True, **_KINDS),
        grids.pairwise(shape=((5333, 8192),), timed=True, **_KINDS),
        grids.pairwise(
            origin="extra", shape=((1, 17), (7, 1025), (83, 1026), (4096, 1024), (7, 5137), (3, 8193), (1, 2)), **_AWKWARD
        ),
        _FAINT,
    ),
    "quick": (grids.pairwise(shape=((1, 32), (5, 497), (3, 2), (2, 5137), (19, 8)), **_AWKWARD), _FAINT),
    "smoke": (
        grids.points(
            {"shape": (3, 40), "dtype": "float16", "symmetric": False, "provide_scale": False},
            {"shape": (2, 65), "dtype": "bfloat16", "symmetric": True, "provide_scale": True},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "scaled_int8_quant(input: torch.Tensor, scale: torch.Tensor | None = None, azp: torch.Tensor | None = None, "
    "symmetric: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Chosen(_compare),
    description=(
        "Quantises a matrix to int8, such that a value is about (code - azp) * scale; returns (codes, scale, azp). azp, "
        "the zero point, is None in symmetric quantisation."
    ),
    notes=(
        "input is (tokens, hidden), contiguous, fp16, bf16 or fp32; codes are fresh, of the same shape. Compute in fp32.",
        (
            "With scale (fp32, one element): codes = round(input / scale), plus azp (int32, one element) where symmetric "
            "is False, saturated to [-128, 127]. scale and azp are themselves what is returned. symmetric is True exactly "
            "if azp is None."
        ),
        (
            "Without scale, one a row: symmetric: scale = max|row| / 127, codes = round(row / scale), and 0 in a row of "
            "zeros, whose scale is 0. Not symmetric: scale = (max - min) / 255, azp = round(-128 - min / scale), codes = "
            "round(row / scale) + azp, saturated; rows are never constant. scale is (tokens, 1) fp32, azp (tokens, 1) "
            "int32, both fresh."
        ),
        (
            "Rounding is to nearest even; a code may fall either way only where the quotient is within 2**-20 of a tie, "
            "azp within 0.001."
        ),
    ),
    family="scaled_quant",
    policy=Policy(lossy_copy=False),
)
