"""Positions of the largest elements (aten::argmax)."""

from typing import Any

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.reduction import ALL
from kgb_gym.operators.aten.families.selection import Selects
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import (
    FLOATING,
    FLOATS,
    REDUCTION,
    REDUCTION_SMALL,
    WHOLE,
    Params,
    pairwise,
    points,
    product,
)

_PAPER: dict[str, Any] = {"keepdim": (True, False), "dim": (0, 1, "all")}
_NOTHING = ((0, 5), (3, 0, 4), (2, 5, 0), (0,))


def _nothing_to_choose(point: Params) -> bool:
    """Whether the reduced dimension is empty, or is none: an error."""
    dim, shape = point["dim"], point["shape"]
    return dim == ALL or dim >= len(shape) or not shape[dim]


_AWKWARD = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (), "dtype": "float32", "dim": 0, "keepdim": True, "origin": "beyond"},
    {"shape": (6, 31), "dtype": "float32"},
    {"shape": (0, 5), "dtype": "float32", "dim": 1},
    {"shape": (5, 0), "dtype": "float32", "dim": 1, "origin": "beyond"},
    {"shape": (0, 5), "dtype": "float16", "dim": "all", "keepdim": True, "origin": "beyond"},
    {"shape": (4, 9, 5), "dtype": "float32", "dim": -2, "layout": "transposed"},
    {"shape": (9, 31), "dtype": "int8", "dim": 0, "layout": "sliced"},
    {"shape": (9, 31), "dtype": "uint8", "dim": 1, "layout": "dilated"},
    {"shape": (8, 23), "dtype": "float32", "dim": 1, "kind": "undefined"},
    {"shape": (33, 8), "dtype": "bfloat16", "dim": 0, "kind": "undefined"},
    {"shape": (8, 23), "dtype": "float32", "dim": 1, "kind": "special", "origin": "beyond"},
    {"shape": (33, 8), "dtype": "bfloat16", "dim": 0, "kind": "special", "origin": "beyond"},
    {"shape": (13, 37), "dtype": "float32", "dim": 1, "kind": "close"},
    {"shape": (37, 13), "dtype": "float64", "dim": 0, "kind": "close"},
    {"shape": (6, 35), "dtype": "int64", "dim": 1, "layout": "offset"},
    {"shape": (3, 6001), "dtype": "float32", "dim": 1},
    {"shape": (6001, 3), "dtype": "float64", "dim": 0},
    {"shape": (40, 150), "dtype": "float16", "layout": "expanded"},
    {"shape": (11,), "dtype": "bool", "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "dim": 0, "kind": "close"},
    {"shape": (4, 9, 5), "dtype": "float16", "dim": 1, "keepdim": True, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "dim": 0, "out": "dilated"},
    {"shape": (13, 11), "dtype": "int32", "out": "empty"},
    {"shape": (11, 13), "dtype": "float32", "dim": 1, "out_dtype": "int32", "origin": "beyond"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 1}, {"shape": (9, 4), "dtype": "float16"})

OPERATOR = Operator(
    source="aten",
    name="argmax",
    interfaces=(
        Interface(
            "argmax",
            reduction.at_one,
            suites(
                paper=(
                    product(shape=REDUCTION_SMALL, dtype=FLOATS, **_PAPER, timed=True),
                    product(shape=_NOTHING, dtype=FLOATS, **_PAPER).beyond(_nothing_to_choose),
                    product(shape=REDUCTION[2:], dtype=FLOATS, dim=("all", 1), keepdim=(False,), origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(shape=((1, 2), (190, 25), (5, 17, 3)), dtype=FLOATS, **_PAPER), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "argmax.out",
            reduction.at_one_out,
            suites(
                paper=(product(shape=REDUCTION_SMALL[1:], dtype=FLOATS, dim=(0, 1), origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Selects(),
    description="The position of the largest element along `dim` (None: in the flattened tensor), as int64.",
    notes=(
        "Among equal elements any position is right. NaN counts as larger than everything.",
        "Without `dim` and with `keepdim` every dimension of the answer has size 1.",
        "A reduced dimension of size 0 is an error, as are bools; `out` is int64.",
    ),
    usual=FLOATING | WHOLE,
    family="reduction",
)
