"""Huber's loss (aten::huber_loss)."""

from typing import Any

from kgb_gym.operators.aten.families import loss
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(make: Maker, *, reduction: int | None = None, delta: float | None = None, **params: Any) -> Call:
    """`f(self, target[, reduction[, delta]])`."""
    args: tuple[Any, ...] = () if reduction is None else (reduction,)
    if delta is not None:
        args = (*args, delta)
    return make.call(*loss.operands(make, **params), *args)


_AXES: dict[str, Any] = {
    "shape": loss.SHAPES,
    "dtype": FLOATS,
    "reduction": loss.REDUCTIONS,
    "delta": (0.5, 1.0, 2.0),
}
_AWKWARD = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32", "reduction": 2},
    {"shape": (9, 31), "dtype": "float32", "reduction": 0, "other": (31,), "layout": "transposed"},
    {"shape": (31,), "dtype": "float16", "reduction": 0, "other": (5, 31), "other_layout": "dilated"},
    {"shape": (5, 1, 7), "dtype": "bfloat16", "reduction": 1, "other": (6, 1), "layout": "sliced"},
    {"shape": (7, 29), "dtype": "float64", "reduction": 2, "delta": 0.3},
    {"shape": (7, 29), "dtype": "float64", "reduction": 0, "delta": 0.3, "layout": "offset"},
    {"shape": (99,), "dtype": "float32", "reduction": 0, "kind": "special", "target": "special"},
    {"shape": (3, 3111), "dtype": "float32", "reduction": 1},
    {"shape": (7, 801), "dtype": "float16", "reduction": 2, "kind": "large", "delta": 100.0},
    {"shape": (57,), "dtype": "float32", "reduction": 0, "kind": "small", "target": "small", "delta": 0.001},
    {"shape": (3, 5), "dtype": "float32", "delta": 0.0, "origin": "beyond"},
    {"shape": (3, 5), "dtype": "float32", "delta": -1.0, "origin": "beyond"},
    {"shape": (3, 5), "dtype": "float32", "other": (4,), "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "reduction": 0, "delta": 0.75},
    {"shape": (9, 33), "dtype": "float16", "reduction": 0, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "reduction": 0, "out": "dilated", "layout": "transposed"},
    {"shape": (23, 17), "dtype": "float32", "reduction": 1, "out": "empty"},
    {"shape": (23, 17), "dtype": "bfloat16", "reduction": 2},
    {"shape": (23, 17), "dtype": "float32", "reduction": 0, "out_dtype": "float64"},
)

OPERATOR = Operator(
    source="aten",
    name="huber_loss",
    interfaces=(
        Interface(
            "huber_loss",
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
            "huber_loss.out",
            loss.with_out(_build),
            suites(paper=(product(**_AXES), _OUT), quick=(_OUT,), smoke=(loss.SMOKE,)),
            loss.jitter,
        ),
    ),
    compare=Close(depth=loss.terms("self", "target")),
    description="Huber's loss of d = self - target: d²/2 where |d| <= delta, delta · (|d| - delta/2) elsewhere.",
    notes=(
        *loss.NOTES,
        "The operands broadcast. A `delta` that is not positive is a RuntimeError.",
        "`out` may be of a wider type, in which the answer is then given.",
    ),
    usual=FLOATING,
    family="loss",
)
