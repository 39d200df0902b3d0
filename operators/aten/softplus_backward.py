"""Gradient of softplus (aten::softplus_backward)."""

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import backward
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import FLOATING, Params
from kgb_gym.operators.maker import Maker

_FIXED: Params = {"beta": 0.5, "threshold": 1.5}
_FURTHER: tuple[Params, ...] = (
    *(
        {"shape": (301,), "dtype": d, "kind": "wide", "beta": 1.0, "threshold": 20.0}
        for d in ("float16", "float32", "bfloat16")
    ),
    {"shape": (9, 33), "dtype": "float32", "kind": "digits", "beta": 0.5, "threshold": 1.5},
    {"shape": (101,), "dtype": "float32", "kind": "digits", "beta": 1, "threshold": 2},
)


def build(make: Maker, *, shape: Sequence[int], dtype: torch.dtype, beta: float, threshold: float, **more: Any) -> Call:
    """`f(grad_output, self, beta, threshold)`."""
    return make.call(*backward.pair(make, shape, dtype, **more), beta, threshold)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The derivative, with the condition of the exponential."""
    x = arguments["self"].double() * float(arguments["beta"])
    return backward.of_gradient(arguments, torch.sigmoid(x) * (1 + x.abs().clamp(max=100.0)))


OPERATOR = Operator(
    source="aten",
    name="softplus_backward",
    interfaces=backward.interfaces(
        "softplus_backward",
        build,
        axes={"beta": (1.0, 0.5, 2.0), "threshold": (20.0, 10.0)},
        fixed=_FIXED,
        further=_FURTHER,
        special="undefined",
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The gradient of softplus: the output's gradient times exp(beta x) / (1 + exp(beta x)), and as it is where beta x > threshold.",
    notes=(
        "Where beta x is the threshold itself, the exponential still counts.",
        "Integers are an error (NotImplementedError); an integer tensor to be written too (RuntimeError).",
        backward.HALF_NOTE,
    ),
    usual=FLOATING,
    family="backward",
)
