"""Root-mean-square normalisation followed by quantisation with dynamic scales, by token or by group of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators.compare import UNIT, Close
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import norm
from kgb_gym.operators.vllm.families.judging import Chosen, Codes, Each, Near, codes, value

TOP = {torch.int8: 127.0, torch.float8_e4m3fn: 448.0}
FLOOR = {torch.int8: 2.0**-23, torch.float8_e4m3fn: 1 / (448 * 512)}
ROWS = (
    "x = input, or input + residual, in fp32 and not rounded before the norm; residual becomes r(x). "
    "y = r(r(x * rsqrt(mean(x*x) + epsilon)) * weight), with r the rounding to input's type and the mean over a row"
)
SCALES = (
    "The largest |y| is lowered to scale_ub (one fp32 element) where that is given, which is for fp8 only. scale = "
    "max(largest / top, floor): top 127 and floor 2**-23 for int8, top 448 and floor 1 / (448 * 512) for fp8 (e4m3). "
    "int8 codes are y * (1 / scale), rounded to nearest even and saturated; fp8 codes y / scale, clamped to +-448 and "
    "rounded to nearest even."
)
JUDGED = (
    "A code may be off by what the two roundings of y to input's type explain; scales to the same accuracy. residual is "
    "judged as a rounded sum."
)


def inputs(
    make: Maker, shape: tuple[int, ...], dtype: torch.dtype, values: str, quant_dtype: torch.dtype, bounded: bool,
    residual: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:  # fmt: skip
    """input, weight, scale_ub (only for fp8), residual."""
    x = norm.rows(make, shape, dtype, values, "contiguous")
    weight = norm.weight(make, shape[-1], dtype, "randn")
    bound = make.uniform((1,), torch.float32, low=0.5, high=2.0) if bounded and quant_dtype is not torch.int8 else None
    return x, weight, bound, norm.rows(make, shape, dtype, values, "contiguous") if residual else None


def answer(
    input: torch.Tensor, weight: torch.Tensor, epsilon: float, quant_dtype: torch.dtype, group: int,
    scale_ub: torch.Tensor | None, residual: torch.Tensor | None,
) -> dict[str, Any]:  # fmt: skip
    """Codes, scales (rows, groups) and, where there is one, the residual."""
    x = input.float() if residual is None else input.float() + residual.float()
    y = norm.rounded(x, weight, epsilon).reshape(-1, input.shape[-1] // group, group)
    largest = y.abs().amax(-1, keepdim=True)
    if scale_ub is not None:
        largest = largest.clamp(max=float(scale_ub))
    scale = (largest / TOP[quant_dtype]).clamp(min=FLOOR[quant_dtype])
    out = codes("", (y / scale).reshape(input.shape), quant_dtype)
    result: dict[str, Any] = {"return": (out, value("", scale.squeeze(-1)))}
    if residual is not None:
        result["residual"] = input.double() + residual.double()
    return result


def compare(arguments: Mapping[str, Any]) -> Each:
    """Of codes, scales and residual. A norm that is off by its last bit may move the inner rounding by one step of
    input's type, and the product with the weight the outer one by another: two steps in y, and in the largest y."""
    two = 4 * UNIT[arguments["input"].dtype] + 2.0**-20
    return Each({"return[0]": Codes(two), "return[1]": Near(two)}, Close())


COMPARE = Chosen(compare)
