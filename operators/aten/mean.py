"""Mean over all or some dimensions (aten::mean)."""

from typing import Any

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, REDUCTION, pairwise, points, product

_QUICK = ((1, 2), (190, 25), (3, 131, 2))
_DIMS: dict[str, Any] = {"keepdim,dim": [(True, 0), (False, 1), (True, [0, 1]), (False, [1, 0])]}

_WHOLE = points(
    {"shape": (), "dtype": "float16"},
    {"shape": (9, 31), "dtype": "float64", "layout": "transposed"},
    {"shape": (7, 5, 3), "dtype": "float16", "to": "float32", "layout": "dilated"},
    {"shape": (301,), "dtype": "bool", "to": "float32"},
    {"shape": (31,), "dtype": "int32", "origin": "beyond"},
    {"shape": (3, 3001), "dtype": "float32", "kind": "above_one"},
)
_OVER = points(
    {"shape": (5, 0, 3), "dtype": "float32", "dim": [1]},
    {"shape": (4, 9, 5, 3), "dtype": "float32", "dim": [-1, 1], "layout": "transposed"},
    {"shape": (9, 31), "dtype": "int8", "dim": [0], "to": "float32", "layout": "sliced"},
    {"shape": (9, 31), "dtype": "float16", "dim": [0], "layout": "sliced"},
    {"shape": (6, 35), "dtype": "bfloat16", "dim": "all", "to": "float32"},
    {"shape": (6, 35), "dtype": "float32", "dim": [], "layout": "offset"},
    {"shape": (8, 23), "dtype": "float32", "dim": [1], "kind": "special"},
    {"shape": (3, 131, 2), "dtype": "float32", "dim": [1], "kind": "undefined"},
    {"shape": (6001, 3), "dtype": "float32", "dim": [0], "kind": "above_one"},
    {"shape": (4, 5), "dtype": "float32", "dim": [0, 0], "origin": "beyond"},
)
_OVER_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "dim": [0]},
    {"shape": (4, 9, 5), "dtype": "float16", "dim": [1], "keepdim": True, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "dim": [0], "out": "dilated"},
    {"shape": (11, 13), "dtype": "float32", "dim": [1], "out_dtype": "float64"},
    {"shape": (11, 13), "dtype": "float32", "dim": [1], "to": "float64", "out_dtype": "float32", "origin": "beyond"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32"},
    {"shape": (31,), "dtype": "bfloat16", "out": "empty"},
    {"shape": (5, 7), "dtype": "float16", "layout": "transposed", "to": "float32"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32"}, {"shape": (9, 4), "dtype": "float16"})
_SMOKE_OVER = points(
    {"shape": (3, 17), "dtype": "float32", "dim": [1]},
    {"shape": (9, 4), "dtype": "float16", "dim": [0], "keepdim": True},
)

OPERATOR = Operator(
    source="aten",
    name="mean",
    interfaces=(
        Interface(
            "mean",
            reduction.whole,
            suites(
                paper=(product(shape=REDUCTION, dtype=FLOATS, timed=True), _WHOLE),
                quick=(product(shape=_QUICK[1:2], dtype=FLOATS[::2]), _WHOLE),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "mean.dim",
            reduction.over,
            suites(
                paper=(product(shape=REDUCTION, dtype=FLOATS, **_DIMS, timed=True), _OVER),
                quick=(pairwise(shape=_QUICK, dtype=FLOATS, **_DIMS), _OVER),
                smoke=(_SMOKE_OVER,),
            ),
            reduction.jitter,
        ),
        Interface(
            "mean.out",
            reduction.with_out,
            suites(
                paper=(product(shape=REDUCTION[1:2], dtype=FLOATS, dim=([0], [1]), origin="extra"), _OVER_OUT),
                quick=(_OVER_OUT,),
                smoke=(_SMOKE_OVER,),
            ),
            reduction.jitter,
        ),
        Interface(
            "mean.dtype_out",
            reduction.with_out,
            suites(
                paper=(product(shape=REDUCTION[1:2], dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Close(depth=reduction.terms, scale=reduction.mean_of_magnitudes),
    description="The mean of all elements, or over the dimensions in `dim` (none or an empty list: all).",
    notes=(
        "Integers and bools need a floating-point `dtype`, else it is an error; the mean of nothing is NaN.",
        "With `dtype` every element is converted first; without it the `out=` forms compute in the type of `out`.",
        "16-bit inputs are summed in fp32 and rounded once.",
    ),
    usual=FLOATING,
    family="reduction",
)
