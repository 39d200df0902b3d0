"""Softmax along one dimension by its primitive name (aten::_softmax)."""

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, REDUCTION_SMALL, pairwise, points, product

_SHAPES = ((1, 256), *REDUCTION_SMALL[1:])

_AWKWARD = points(
    {"shape": (), "dtype": "float32", "dim": -1},
    {"shape": (0, 3), "dtype": "float32", "dim": 0},
    {"shape": (6, 33), "dtype": "float64", "dim": -1, "layout": "transposed"},
    {"shape": (3, 7, 11), "dtype": "bfloat16", "dim": -2, "layout": "sliced"},
    {"shape": (4, 65), "dtype": "float16", "dim": 1, "layout": "dilated"},
    {"shape": (7, 29), "dtype": "float32", "dim": 1, "kind": "masked"},
    {"shape": (2, 1037), "dtype": "float32", "dim": 1, "kind": "large"},
    {"shape": (2, 9001), "dtype": "float32", "dim": 1},
    {"shape": (3001, 3), "dtype": "bfloat16", "dim": 0, "kind": "special"},
    {"shape": (9, 21), "dtype": "float32", "dim": 0, "kind": "special"},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "half_to_float": True, "origin": "beyond"},
)
_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "dim": 1},
    {"shape": (17, 5), "dtype": "float16", "dim": 0, "out": "empty"},
    {"shape": (3, 9, 7), "dtype": "bfloat16", "dim": 1, "out": "dilated"},
    {"shape": (6, 35), "dtype": "float32", "dim": -1, "out": "transposed", "layout": "offset"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 1}, {"shape": (5, 4), "dtype": "float16", "dim": 0})

OPERATOR = Operator(
    source="aten",
    name="_softmax",
    interfaces=(
        Interface(
            "_softmax",
            reduction.along_flag,
            suites(
                paper=(
                    product(shape=_SHAPES, dtype=FLOATS, dim=(0, 1), timed=True),
                    product(shape=_SHAPES, dtype=FLOATS, dim=(0, 1), kind=("masked",), origin="extra"),
                    product(shape=((3, 131072),), dtype=FLOATS, dim=(1,), origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(shape=((1, 64), (190, 40), (5, 40, 3)), dtype=FLOATS, dim=(0, 1)), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "_softmax.out",
            reduction.along_flag_out,
            suites(
                paper=(product(shape=_SHAPES[1:], dtype=FLOATS, dim=(0, 1), origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Close(scale=reduction.softmax_error),
    description="Softmax along `dim`: exp(x - max) divided by its sum, in the type of `self`.",
    notes=(
        "A slice of -inf only gives NaN, as does one that holds +inf or NaN; no finite input may overflow.",
        "`half_to_float` is for 16-bit inputs on a GPU, where the answer is then float32; with float32 it is an error.",
        "A `dim` out of range is an IndexError.",
        "16-bit inputs are computed in fp32 and rounded once.",
    ),
    usual=FLOATING,
    family="softmax",
)
