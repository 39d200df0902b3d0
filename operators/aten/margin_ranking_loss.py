"""Ranking loss of two inputs (aten::margin_ranking_loss)."""

from collections.abc import Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import loss
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(
    make: Maker,
    *,
    target: str = "signs",
    third: Sequence[int] | None = None,
    third_layout: str = "contiguous",
    margin: float | None = None,
    reduction: int | None = None,
    same: bool = False,
    **params: Any,
) -> Call:
    """`f(input1, input2, target[, margin[, reduction]])`; `third`: sizes of `target`; `same`: equal inputs."""
    first, second = loss.operands(make, **params)
    if same:
        second.copy_(first)
    sizes = params["shape"] if third is None else third
    aim = loss.aims(make, sizes, params["dtype"], target, third_layout)
    args: tuple[Any, ...] = () if margin is None else (margin,)
    if reduction is not None:
        args = (*args, reduction) if args else (0.0, reduction)
    return make.call(first, second, aim, *args)


def _error(arguments: Arguments) -> torch.Tensor:
    """|target| · |input1 - input2| + |margin|."""
    difference: torch.Tensor = (arguments["input1"].double() - arguments["input2"].double()).abs()
    target: torch.Tensor = arguments["target"].double()
    return difference * target.abs() + abs(float(arguments.get("margin", 0.0)))


_AXES: dict[str, Any] = {
    "shape": ((2, 3), (128, 256), (1024, 256)),
    "dtype": FLOATS,
    "margin": (0.0, 0.5, 1.0),
    "reduction": loss.REDUCTIONS,
}
_AWKWARD = points(
    {"shape": (), "dtype": "float32", "margin": 5.0},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32", "reduction": 2},
    {"shape": (9, 31), "dtype": "float32", "reduction": 0, "other": (31,), "layout": "transposed"},
    {"shape": (31,), "dtype": "float16", "reduction": 0, "third": (5, 31), "third_layout": "dilated"},
    {"shape": (5, 1, 7), "dtype": "bfloat16", "reduction": 1, "other": (6, 1), "layout": "sliced", "margin": 0.25},
    {"shape": (9, 31), "dtype": "float32", "reduction": 0, "third": (), "margin": -0.5},
    {"shape": (7, 29), "dtype": "float64", "reduction": 2, "margin": 0.3},
    {"shape": (7, 29), "dtype": "float64", "reduction": 0, "margin": 0.3, "layout": "offset"},
    {"shape": (99,), "dtype": "float32", "reduction": 0, "kind": "special", "margin": 0.1},
    {"shape": (33,), "dtype": "float32", "reduction": 0, "same": True, "margin": 0.1},
    {"shape": (57,), "dtype": "bfloat16", "reduction": 0, "target": "normal", "margin": 0.7, "other_layout": "dilated"},
    {"shape": (3, 3111), "dtype": "float32", "reduction": 1},
    {"shape": (7, 801), "dtype": "float16", "reduction": 2, "margin": 1.0},
    {"shape": (3, 5), "dtype": "float32", "other": (4,), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="margin_ranking_loss",
    interfaces=(
        Interface(
            "margin_ranking_loss",
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
    ),
    compare=Close(depth=loss.terms("input1", "input2", "target"), scale=loss.reduced(_error)),
    description="The ranking loss max(0, margin - target · (input1 - input2)).",
    notes=(*loss.NOTES, "All three broadcast. NaN comes through. `margin` may be negative."),
    usual=FLOATING,
    family="loss",
)
