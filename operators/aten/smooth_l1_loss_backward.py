"""Gradient of the smooth L1 loss (aten::smooth_l1_loss_backward)."""

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import backward
from kgb_gym.operators.aten.families.common import values
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import FLOATING, Params
from kgb_gym.operators.maker import Maker

_FIXED: Params = {"beta": 0.5, "reduction": 0}
_FURTHER: tuple[Params, ...] = (
    {"shape": (301,), "dtype": "float32", "kind": "digits", "target_kind": "digits", "beta": 0.0, "reduction": 0},
    {"shape": (9, 33), "dtype": "float16", "kind": "digits", "target_kind": "digits", "beta": 2.0, "reduction": 2},
    {"shape": (5, 7), "dtype": "float32", "layout": "transposed", "beta": 1.0, "reduction": 1},
)


def build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    beta: float,
    reduction: int,
    target_kind: str = "normal",
    **more: Any,
) -> Call:
    """`f(grad_output, self, target, reduction, beta)`; a reduced loss has one gradient."""
    grad, x = backward.pair(make, shape, dtype, **more)
    if reduction:
        grad = make.normal((), dtype, mean=3.0)
    return make.call(grad, x, values(make, shape, dtype, target_kind), reduction, beta)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The gradient's size times the slope, at most 1, of which a rounded difference may be wrong."""
    x, target, beta = arguments["self"].double(), arguments["target"].double(), arguments["beta"]
    share = (x - target).abs() / beta if beta else torch.ones_like(x)
    norm = max(x.numel(), 1) if arguments["reduction"] == 1 else 1
    return backward.of_gradient(arguments, share.clamp(max=1.0) / norm)


OPERATOR = Operator(
    source="aten",
    name="smooth_l1_loss_backward",
    interfaces=backward.interfaces(
        "smooth_l1_loss_backward",
        build,
        axes={"beta": (1.0, 0.5, 2.0), "reduction": (0, 1, 2)},
        fixed=_FIXED,
        further=_FURTHER,
        integers=True,
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The gradient of the smooth L1 loss: d / beta, limited to [-1, 1], times the output's gradient, where d = self - target.",
    notes=(
        "`reduction` 0 has a gradient for each element; 1 (mean) and 2 (sum) have one of zero dimensions, and for 1 the answer is divided by the number of elements.",
        "With beta = 0 the slope is the sign of d, and -1 where d is zero.",
        "The tensor that is written may have another floating-point type; an integer one is an error (RuntimeError).",
        backward.HALF_NOTE,
    ),
    usual=FLOATING,
    family="backward",
)
