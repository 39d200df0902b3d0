"""A new dimension of size one, as a view (aten::unsqueeze)."""

from kgb_gym.operators.aten.families import common, views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, points, product

_PUBLISHED = (
    ((), (0, -1)), ((2, 3), (-3, -1, 0, 1, 2)), ((128, 256), (-3, -1, 0, 2)), ((512, 512), (-3, 0, 2)),
    ((64, 32, 16), (-4, -1, 0, 2, 3)), ((4,), (-2, -1, 0, 1)),
)  # fmt: skip
_PAPER = [(shape, dim) for shape, dims in _PUBLISHED for dim in dims]
_AWKWARD = points(
    {"shape": (0, 3), "dtype": "float32", "dim": 1},
    {"shape": (3, 4, 5), "dtype": "float16", "dim": 1, "layout": "transposed"},
    {"shape": (5, 7), "dtype": "int64", "dim": -1, "layout": "dilated"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "layout": "offset"},
    {"shape": (4, 5), "dtype": "bfloat16", "dim": 0, "layout": "sliced"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "layout": "expanded"},
    {"shape": (4, 5), "dtype": "complex64", "dim": 1, "bit": "conj"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "bit": "neg"},
    *({"shape": (3, 7), "dtype": d, "dim": 1} for d in views.FURTHER_DTYPES),
    {"shape": (4, 5), "dtype": "float32", "dim": 3, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": -4, "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="unsqueeze",
    interfaces=(
        Interface(
            "unsqueeze",
            views.unsqueeze,
            suites(
                paper=(product(**views.together("shape,dim", _PAPER), dtype=FLOATS, timed=True), _AWKWARD),
                quick=(
                    product(
                        **views.together("shape,dim", [p for p in _PAPER if max(p[0], default=0) < 64]),
                        dtype=FLOATS[1:2],
                    ),
                    _AWKWARD,
                ),
                smoke=(
                    points(
                        {"shape": (5, 6), "dtype": "float32", "dim": 1},
                        {"shape": (4, 5), "dtype": "float16", "dim": 0, "layout": "offset"},
                    ),
                ),
            ),
            common.jitter,
        ),
    ),
    compare=Exact(),
    description="A view of `self` with a new dimension of size 1.",
    notes=(
        "The dimension is a place among those of the answer, from -(d+1) to d for d dimensions; others are IndexErrors.",
        "The new dimension's stride is the size times the stride of the dimension that stood there, at the end 1.",
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    exemptions=(views.SAME_VALUES,),
    family="views",
)
