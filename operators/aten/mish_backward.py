"""Gradient of mish (aten::mish_backward)."""

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import backward
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import FLOATING, Params
from kgb_gym.operators.maker import Maker

_FURTHER: tuple[Params, ...] = tuple(
    {"shape": (301,), "dtype": d, "kind": "wide"} for d in ("float16", "float32", "bfloat16")
)


def build(make: Maker, *, shape: Sequence[int], dtype: torch.dtype, **more: Any) -> Call:
    """`f(grad_output, self)`."""
    return make.call(*backward.pair(make, shape, dtype, **more))


def _scale(arguments: Arguments) -> torch.Tensor:
    """Both terms of the derivative by magnitude, with the condition of the exponential; and the rounding of 1 + exp(x)."""
    x = arguments["self"].double()
    inner = torch.tanh(torch.nn.functional.softplus(x))
    slope = inner + x.abs() * torch.sigmoid(x) * (1 - inner * inner)
    return backward.of_gradient(arguments, slope * (1 + x.abs().clamp(max=100.0)) + 1)


OPERATOR = Operator(
    source="aten",
    name="mish_backward",
    interfaces=backward.interfaces("mish_backward", build, out="", special="undefined", further=_FURTHER),
    compare=Close(scale=_scale, slack=4.0),
    description="The gradient of mish, x · tanh(log(1 + exp(x))): the output's gradient times the derivative at x.",
    notes=(
        "Far on the right the derivative is 1, far on the left it goes to zero. Infinities are not asked for.",
        "Integers are an error (NotImplementedError).",
        backward.HALF_NOTE,
    ),
    usual=FLOATING,
    family="backward",
)
