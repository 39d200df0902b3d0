"""Binary cross entropy of logits (aten::binary_cross_entropy_with_logits)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import softplus

from kgb_gym.operators.aten.families import loss
from kgb_gym.operators.aten.families.common import suites, values
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    target: str = "unit",
    weight: Sequence[int] | bool = False,
    pos_weight: Sequence[int] | bool = False,
    weight_layout: str = "contiguous",
    reduction: int | None = None,
    **params: Any,
) -> Call:
    """`f(self, target[, weight, pos_weight, reduction])`; the weights' sizes are given, or True: those of `self`."""
    first, second = loss.operands(make, shape=shape, dtype=dtype, target=target, **params)

    def positive(sizes: Sequence[int] | bool, layout: str) -> torch.Tensor | None:
        if isinstance(sizes, bool):
            return values(make, shape, dtype, "positive", layout) if sizes else None
        return values(make, sizes, dtype, "positive", layout)

    weights = positive(weight, weight_layout), positive(pos_weight, weight_layout)
    if reduction is not None:
        return make.call(first, second, *weights, reduction)
    return make.call(first, second) if weights == (None, None) else make.call(first, second, *weights)


def _error(arguments: Arguments) -> torch.Tensor:
    """Every term of the stable form by its magnitude; log(1 + e) is off by a roundoff of 1 + e."""
    x, t = arguments["self"].double(), arguments["target"].double()
    pos_weight, weight = arguments.get("pos_weight"), arguments.get("weight")
    factor = 1 if pos_weight is None else 1 + (pos_weight.double() + 1) * t.abs()
    each: torch.Tensor = (1 + t.abs()) * x.abs() + factor * (softplus(-x.abs()) + x.abs() + 1)
    return each if weight is None else each * weight.double().abs()


_AXES: dict[str, Any] = {
    "shape": loss.SHAPES,
    "dtype": FLOATS,
    "reduction": loss.REDUCTIONS,
    "weight": (False, True),
    "pos_weight": (False, True),
}
_AWKWARD = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32", "reduction": 2},
    {"shape": (9, 31), "dtype": "float32", "reduction": 0, "weight": (31,), "layout": "transposed"},
    {"shape": (5, 31), "dtype": "float16", "reduction": 0, "pos_weight": (31,), "other_layout": "dilated"},
    {"shape": (5, 6, 7), "dtype": "bfloat16", "reduction": 1, "weight": (6, 1), "pos_weight": (7,), "layout": "sliced"},
    {"shape": (7, 29), "dtype": "float64", "reduction": 2, "pos_weight": (1,)},
    {"shape": (7, 29), "dtype": "float64", "reduction": 0, "weight": True, "weight_layout": "dilated"},
    {"shape": (99,), "dtype": "float32", "reduction": 0, "kind": "large"},
    {"shape": (99,), "dtype": "bfloat16", "reduction": 0, "kind": "large", "pos_weight": True},
    {"shape": (57,), "dtype": "float32", "reduction": 0, "target": "normal", "layout": "offset"},
    {"shape": (3, 3111), "dtype": "float32", "reduction": 1},
    {"shape": (7, 801), "dtype": "float16", "reduction": 2, "weight": (801,)},
    {"shape": (2, 3), "dtype": "float32", "other": (3, 2), "origin": "beyond"},
    {"shape": (2, 3), "dtype": "float32", "weight": (4, 2, 3), "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "reduction": 0, "weight": True},
    {"shape": (9, 33), "dtype": "float16", "reduction": 0, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "reduction": 0, "out": "dilated", "layout": "transposed"},
    {"shape": (23, 17), "dtype": "float32", "reduction": 1, "out": "empty", "pos_weight": (17,)},
    {"shape": (23, 17), "dtype": "bfloat16", "reduction": 2},
    {"shape": (3, 5), "dtype": "float32", "reduction": 0, "out_dtype": "float64", "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="binary_cross_entropy_with_logits",
    interfaces=(
        Interface(
            "binary_cross_entropy_with_logits",
            _build,
            suites(
                paper=(
                    product(**_AXES, timed=True),
                    product(shape=((4096, 1024),), dtype=FLOATS, reduction=loss.REDUCTIONS, origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(**{**_AXES, "shape": ((2, 3), (40, 29))}), _AWKWARD),
                smoke=(loss.SMOKE,),
            ),
            loss.jitter,
        ),
        Interface(
            "binary_cross_entropy_with_logits.out",
            loss.with_out(_build),
            suites(paper=(product(**_AXES), _OUT), quick=(_OUT,), smoke=(loss.SMOKE,)),
            loss.jitter,
        ),
    ),
    compare=Close(depth=loss.terms("self"), scale=loss.reduced(_error)),
    description=(
        "Minus the log likelihood of `target` under probabilities sigmoid(self): with s(x) = log(1 + exp(-x)), "
        "(1 - target) · self + (1 + (pos_weight - 1) · target) · s(self), times `weight`."
    ),
    notes=(
        *loss.NOTES,
        "Logits may be large (1e4): no finite one may overflow. Targets may lie outside [0, 1].",
        "`target` has the shape of `self`, and the weights broadcast to it; else it is an error.",
        "`out` has the type of `self`.",
    ),
    usual=FLOATING,
    family="loss",
)
