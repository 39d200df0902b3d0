"""Gradient of log(sigmoid(x)) (aten::log_sigmoid_backward)."""

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
    """`f(grad_output, self, buffer)`; the buffer holds exp(-|self|)."""
    grad, x = backward.pair(make, shape, dtype, **more)
    buffer = x.abs().neg().exp() if dtype.is_floating_point else x.clone()
    return make.call(grad, x, buffer)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The gradient's natural condition; exp(-|x|) in 16 bits has no digits left below 2**-25."""
    x = arguments["self"].double()
    return backward.of_gradient(arguments, torch.sigmoid(-x) * (1 + x.abs().clamp(max=100.0)) + 1 / 32)


OPERATOR = Operator(
    source="aten",
    name="log_sigmoid_backward",
    interfaces=backward.interfaces("log_sigmoid_backward", build, casts=False, further=_FURTHER),
    compare=Close(scale=_scale, slack=4.0, intermediate=1.0),
    description="The gradient of log(sigmoid(x)): the output's gradient times 1 / (1 + exp(x)).",
    notes=(
        "`buffer` is what the forward pass on a CPU leaves, exp(-|x|) in the tensor's type; on a GPU it may be anything. Use `self`.",
        "Integers are an error (NotImplementedError). The tensor that is written must have the input's type (RuntimeError).",
        "One rounding more to a 16-bit type is tolerated: that of the buffer.",
        backward.HALF_NOTE,
    ),
    usual=FLOATING,
    family="backward",
)
