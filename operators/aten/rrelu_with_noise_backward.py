"""Gradient of the randomised leaky ReLU (aten::rrelu_with_noise_backward)."""

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import backward
from kgb_gym.operators.aten.families.unary import PUBLISHED_LARGE
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import FLOATING, Params
from kgb_gym.operators.maker import Maker

_FIXED: Params = {"training": True}
_FURTHER: tuple[Params, ...] = (
    {"shape": (301,), "dtype": "float32", "training": False, "kind": "digits", "lower": 0.1, "upper": 0.3},
    {"shape": (9, 33), "dtype": "float16", "training": True, "lower": 0.25, "upper": 0.25},
    {"shape": (45,), "dtype": "bfloat16", "training": False, "self_is_result": True},
    {"shape": (5, 33), "dtype": "float64", "training": False, "lower": 0.1, "upper": 0.3},
    {"shape": (33,), "dtype": "float32", "training": True, "lower": -0.5, "self_is_result": True},
    {"shape": (5,), "dtype": "float32", "training": False, "lower": -0.5, "self_is_result": True, "origin": "beyond"},
)

_GIVEN: tuple[Params, ...] = ({"shape": (11, 13), "dtype": "float32", "training": False, "lower": 0.1, "upper": 0.3},)


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    training: bool,
    lower: float = 0.125,
    upper: float = 0.375,
    self_is_result: bool = False,
    **more: Any,
) -> Call:
    """`f(grad_output, self, noise, lower, upper, training, self_is_result)`."""
    grad, x = backward.pair(make, shape, dtype, **more)
    noise = make.uniform(shape, dtype, low=0.1, high=1.0)
    return make.call(grad, x, noise, lower, upper, training, self_is_result)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The gradient by its slope; at most two products."""
    slope = arguments["noise"].double().clamp(min=abs(arguments["lower"]) / 2)
    return backward.of_gradient(arguments, slope)


OPERATOR = Operator(
    source="aten",
    name="rrelu_with_noise_backward",
    interfaces=backward.interfaces(
        "rrelu_with_noise_backward",
        build,
        out="out",
        casts=False,
        axes={"training": (True, False)},
        fixed=_FIXED,
        further=_FURTHER,
        given=_GIVEN,
        published=PUBLISHED_LARGE,
        integers=True,
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The gradient of the randomised leaky ReLU: in training the output's gradient times `noise`, otherwise the "
    "gradient itself for x > 0 and (lower + upper) / 2 times it elsewhere.",
    notes=(
        "`self_is_result` says that `self` is the output of the forward pass; with a negative slope outside training that is an error (RuntimeError).",
        "The tensor that is written must have the input's type (RuntimeError).",
        backward.HALF_NOTE,
    ),
    usual=FLOATING,
    family="backward",
)
