"""Transpose of a matrix, as a view (aten::t)."""

from kgb_gym.operators.aten.families import common, views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, points, product

_AWKWARD = points(
    {"shape": (), "dtype": "float32"},
    {"shape": (7,), "dtype": "int64", "layout": "dilated"},
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (5, 6), "dtype": "float32", "layout": "transposed"},
    {"shape": (5, 6), "dtype": "float16", "layout": "sliced"},
    {"shape": (5, 6), "dtype": "bfloat16", "layout": "expanded"},
    {"shape": (4, 3), "dtype": "float32", "layout": "offset"},
    {"shape": (2, 3, 4), "dtype": "float32", "origin": "beyond"},
    *({"shape": (5, 9), "dtype": d} for d in views.ALL_DTYPES if d not in FLOATS),
)

OPERATOR = Operator(
    source="aten",
    name="t",
    interfaces=(
        Interface(
            "t",
            views.build,
            suites(
                paper=(
                    product(shape=((2, 3), (128, 256), (512, 512)), dtype=FLOATS, contiguous=(True, False), timed=True),
                    _AWKWARD,
                ),
                quick=(product(shape=((2, 3), (16, 24), (32, 32)), dtype=FLOATS, contiguous=(True, False)), _AWKWARD),
                smoke=(
                    points(
                        {"shape": (2, 3), "dtype": "float32"}, {"shape": (4, 3), "dtype": "float16", "layout": "offset"}
                    ),
                ),
            ),
            common.jitter,
        ),
    ),
    compare=Exact(),
    description="Swaps the two dimensions of a matrix without moving data: the answer is a view of the input.",
    notes=("0-d and 1-D tensors give a view of themselves; more than two dimensions are a RuntimeError.",),
    view=True,
    kernel_required=False,
    family="views",
)
