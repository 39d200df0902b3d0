"""Two-class logistic loss (aten::soft_margin_loss)."""

from typing import Any

import torch

from kgb_gym.operators.aten.families import loss
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(make: Maker, *, reduction: int | None = None, scale: float = 1.0, **params: Any) -> Call:
    """`f(self, target[, reduction])`; `self` is multiplied by `scale`."""
    first, second = loss.operands(make, **params)
    if scale != 1.0:
        first.mul_(scale).clamp_(-60, 60)
    return make.call(first, second) if reduction is None else make.call(first, second, reduction)


def _error(arguments: Arguments) -> torch.Tensor:
    """log(1 + eᶻ) is off by a roundoff of 1 + eᶻ, and by eᶻ / (1 + eᶻ) of what z itself is off by."""
    z: torch.Tensor = -arguments["self"].double() * arguments["target"].double()
    return torch.nn.functional.softplus(z) + torch.sigmoid(z) * z.abs() + 1


_AXES: dict[str, Any] = {"shape": loss.SHAPES, "dtype": FLOATS, "reduction": loss.REDUCTIONS, "target": ("signs",)}
_SMALLER: dict[str, Any] = {**_AXES, "shape": ((2, 3), (40, 29))}
_AWKWARD = points(
    {"shape": (), "dtype": "float32", "target": "signs"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32", "reduction": 2},
    {"shape": (9, 31), "dtype": "float32", "reduction": 0, "other": (31,), "layout": "transposed"},
    {"shape": (5, 31), "dtype": "float16", "reduction": 0, "other": (5, 1), "other_layout": "dilated"},
    {"shape": (5, 6, 7), "dtype": "bfloat16", "reduction": 1, "other": (6, 1), "layout": "sliced"},
    {"shape": (7, 29), "dtype": "float64", "reduction": 2},
    {"shape": (7, 29), "dtype": "float64", "reduction": 0, "target": "signs", "layout": "offset"},
    {"shape": (99,), "dtype": "float32", "reduction": 0, "scale": 30.0, "target": "signs"},
    {"shape": (99,), "dtype": "bfloat16", "reduction": 0, "scale": 30.0, "target": "signs"},
    {"shape": (3, 3111), "dtype": "float32", "reduction": 1, "target": "signs"},
    {"shape": (7, 801), "dtype": "float16", "reduction": 2, "target": "signs"},
    {"shape": (3, 5), "dtype": "float32", "other": (4,), "origin": "beyond"},
    {"shape": (31,), "dtype": "float32", "reduction": 0, "other": (5, 31), "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "reduction": 0},
    {"shape": (9, 33), "dtype": "float16", "reduction": 0, "out": "empty", "target": "signs"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "reduction": 0, "out": "dilated", "layout": "transposed"},
    {"shape": (23, 17), "dtype": "float32", "reduction": 1, "out": "empty", "target": "signs"},
    {"shape": (23, 17), "dtype": "bfloat16", "reduction": 2},
    {"shape": (3, 5), "dtype": "float32", "reduction": 0, "out_dtype": "float64", "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="soft_margin_loss",
    interfaces=(
        Interface(
            "soft_margin_loss",
            _build,
            suites(
                paper=(
                    product(**_AXES, timed=True),
                    product(**{**_AXES, "shape": ((4096, 1024),)}, origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(**_SMALLER), _AWKWARD),
                smoke=(loss.SMOKE_SIGNS,),
            ),
            loss.jitter,
        ),
        Interface(
            "soft_margin_loss.out",
            loss.with_out(_build),
            suites(paper=(product(**_AXES), _OUT), quick=(_OUT,), smoke=(loss.SMOKE_SIGNS,)),
            loss.jitter,
        ),
    ),
    compare=Close(depth=loss.terms("self"), scale=loss.reduced(_error)),
    description="The logistic loss log(1 + exp(-target · self)).",
    notes=(
        *loss.NOTES,
        "`target` broadcasts to `self`, which does not grow (RuntimeError). |target · self| stays below 80.",
        "`out` has the type of `self`.",
    ),
    usual=FLOATING,
    family="loss",
)
