"""Sum over all or some dimensions (aten::sum)."""

from typing import Any

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, REDUCTION, pairwise, points, product

_QUICK = ((1, 2), (40, 25), (3, 131, 2))
_DIMS: dict[str, Any] = {"keepdim,dim": [(True, 0), (False, 1), (False, []), (True, [])]}

_WHOLE = points(
    {"shape": (), "dtype": "float16"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (9, 31), "dtype": "float64", "layout": "transposed"},
    {"shape": (7, 5, 3), "dtype": "float16", "to": "float32", "layout": "dilated"},
    {"shape": (301,), "dtype": "bool"},
)
_OVER = points(
    {"shape": (5, 0, 3), "dtype": "float32", "dim": [1]},
    {"shape": (4, 9, 5, 3), "dtype": "float32", "dim": [-1, 1], "layout": "transposed"},
    {"shape": (9, 31), "dtype": "int8", "dim": [0], "layout": "sliced"},
    {"shape": (6, 35), "dtype": "bfloat16", "dim": "all", "to": "float32"},
    {"shape": (8, 23), "dtype": "float32", "dim": [1], "kind": "special"},
    {"shape": (3, 131, 2), "dtype": "float32", "dim": [1], "kind": "undefined"},
    {"shape": (2, 131, 67), "dtype": "float32", "dim": [1]},
    {"shape": (5, 21), "dtype": "float32", "dim": [0], "to": "int64", "kind": "above_one"},
    {"shape": (5, 21), "dtype": "float32", "dim": [1], "to": "int64", "kind": "above_one"},
)
_OUT = points(
    {"shape": (23, 17), "dtype": "float32"},
    {"shape": (31,), "dtype": "bfloat16", "out": "empty"},
    {"shape": (5, 7), "dtype": "float16", "layout": "transposed"},
)
_OVER_OUT = points(
    {"shape": (23, 17), "dtype": "float32", "dim": [0]},
    {"shape": (4, 9, 5), "dtype": "float16", "dim": [1], "keepdim": True, "out": "empty"},
    {"shape": (6, 5, 7), "dtype": "bfloat16", "dim": [0], "out": "dilated"},
    {"shape": (11, 13), "dtype": "float32", "dim": [1], "out_dtype": "float64"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32"}, {"shape": (9, 4), "dtype": "float16"})
_SMOKE_OVER = points(
    {"shape": (3, 17), "dtype": "float32", "dim": [1]},
    {"shape": (9, 4), "dtype": "float16", "dim": [0], "keepdim": True},
)

OPERATOR = Operator(
    source="aten",
    name="sum",
    interfaces=(
        Interface(
            "sum",
            reduction.whole,
            suites(
                paper=(
                    product(shape=REDUCTION, dtype=FLOATS, timed=True),
                    points({"shape": (200, 40999, 3), "dtype": "float32", "layout": "transposed"}),
                    _WHOLE,
                ),
                quick=(product(shape=_QUICK[1:], dtype=FLOATS), _WHOLE),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "sum.dim_IntList",
            reduction.over,
            suites(
                paper=(
                    product(shape=REDUCTION, dtype=FLOATS, **_DIMS, timed=True),
                    product(shape=REDUCTION[2:], dtype=FLOATS, dim=([-1], [0, 2], [0, 1]), origin="extra"),
                    _OVER,
                ),
                quick=(pairwise(shape=_QUICK, dtype=FLOATS, **_DIMS), _OVER),
                smoke=(_SMOKE_OVER,),
            ),
            reduction.jitter,
        ),
        Interface(
            "sum.out",
            reduction.with_out,
            suites(
                paper=(product(shape=REDUCTION[1:2], dtype=FLOATS, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "sum.IntList_out",
            reduction.with_out,
            suites(
                paper=(product(shape=REDUCTION[1:], dtype=FLOATS, dim=([0], [1]), origin="extra"), _OVER_OUT),
                quick=(_OVER_OUT,),
                smoke=(_SMOKE_OVER,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Close(depth=reduction.terms, scale=reduction.sum_of_magnitudes),
    description="The sum of all elements, or over the dimensions in `dim` (none or an empty list: all).",
    notes=(
        "Sums of integers and bools are int64 unless `dtype` says otherwise; an empty sum is 0.",
        "With `dtype` every element is converted first; `sum.IntList_out` without it computes in the type of `out`.",
        "16-bit inputs are summed in fp32 and rounded once.",
    ),
    left_out=(
        ("sum.int", "TorchScript builtin: not in the dispatcher"),
        ("sum.float", "TorchScript builtin: not in the dispatcher"),
        ("sum.complex", "TorchScript builtin: not in the dispatcher"),
        ("sum.bool", "TorchScript builtin: not in the dispatcher"),
        ("sum.dim_DimnameList", "PyTorch dropped named-dimension overloads"),
        ("sum.DimnameList_out", "PyTorch dropped named-dimension overloads"),
    ),
    usual=REAL - {"float64"},
    family="reduction",
)
