"""Running sums along one dimension (aten::cumsum)."""

from typing import Any

from kgb_gym.operators.aten.families import reduction
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, WHOLE, pairwise, points, product

_DTYPES = (*FLOATS, "int16", "int32")
_PAPER: dict[str, Any] = {
    "shape,dim": [((1, 2), -1), ((4096, 256), -1), ((200, 40999, 3), 1), ((2637,), -1), ((16, 1025, 255), -1)]
}
_QUICK: dict[str, Any] = {"shape,dim": [((40, 65), -1), ((5, 70, 3), 1), ((1037,), 0)]}

_AWKWARD = points(
    {"shape": (), "dtype": "float32", "dim": 0},
    {"shape": (), "dtype": "int64", "dim": -1},
    {"shape": (0, 3), "dtype": "float32", "dim": 1},
    {"shape": (190, 33), "dtype": "float32", "dim": 1},
    {"shape": (33, 190), "dtype": "float64", "dim": 0},
    {"shape": (6, 33), "dtype": "float32", "dim": -1, "layout": "transposed"},
    {"shape": (3, 7, 11), "dtype": "bfloat16", "dim": -2, "layout": "sliced"},
    {"shape": (4, 65), "dtype": "float16", "dim": 1, "layout": "dilated"},
    {"shape": (77,), "dtype": "bool", "dim": 0},
    {"shape": (5, 300), "dtype": "int8", "dim": 1, "layout": "offset"},
    {"shape": (5, 300), "dtype": "int8", "dim": 1, "to": "int8"},
    {"shape": (31,), "dtype": "float16", "dim": 0, "to": "float32"},
    {"shape": (31,), "dtype": "int32", "dim": 0, "to": "float32"},
    {"shape": (5, 21), "dtype": "float32", "dim": 0, "to": "int64", "kind": "above_one"},
    {"shape": (7, 19), "dtype": "float32", "dim": 1, "kind": "special"},
    {"shape": (2, 5001), "dtype": "float32", "dim": 1},
    {"shape": (9001, 2), "dtype": "int64", "dim": 0},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "origin": "beyond"},
)
_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "dim": 1},
    {"shape": (17, 5), "dtype": "float16", "dim": 0, "out": "empty"},
    {"shape": (3, 9, 7), "dtype": "bfloat16", "dim": 1, "out": "dilated"},
    {"shape": (6, 35), "dtype": "float32", "dim": 1, "out": "transposed", "out_dtype": "float64"},
    {"shape": (6, 35), "dtype": "int32", "dim": -1, "out": "empty"},
    {"shape": (3, 5), "dtype": "float32", "dim": 0, "to": "float64", "out_dtype": "float32", "origin": "beyond"},
)
_SMOKE = points({"shape": (3, 17), "dtype": "float32", "dim": 1}, {"shape": (5, 4), "dtype": "int32", "dim": 0})

OPERATOR = Operator(
    source="aten",
    name="cumsum",
    interfaces=(
        Interface(
            "cumsum",
            reduction.scan,
            suites(
                paper=(
                    product(**_PAPER, dtype=_DTYPES, timed=True),
                    points({"shape": (3, 1 << 20), "dtype": "float32", "dim": 1}),
                    _AWKWARD,
                ),
                quick=(pairwise(**_QUICK, dtype=_DTYPES), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
        Interface(
            "cumsum.out",
            reduction.scan_out,
            suites(
                paper=(product(shape=((4096, 256),), dim=(0, 1), dtype=_DTYPES, origin="extra"), _OUT),
                quick=(_OUT,),
                smoke=(_SMOKE,),
            ),
            reduction.jitter,
        ),
    ),
    compare=Close(depth=reduction.terms, scale=reduction.running_magnitudes),
    description="Running sums along `dim`: every element of the answer is the sum of all elements up to its place.",
    notes=(
        "Sums of integers and bools are int64 unless `dtype` says otherwise; integers wrap.",
        "With `dtype` every element is converted first; `cumsum.out` without it computes in the type of `out`.",
        "16-bit floats are summed in fp32 and rounded once. What follows a NaN is NaN.",
        "A `dim` out of range is an IndexError.",
    ),
    left_out=(
        ("cumsum.dimname", "PyTorch dropped named-dimension overloads"),
        ("cumsum.dimname_out", "PyTorch dropped named-dimension overloads"),
    ),
    usual=FLOATING | WHOLE,
    family="scan",
)  # fmt: skip
