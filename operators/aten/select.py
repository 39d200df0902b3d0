"""One slice along a dimension, as a view (aten::select.int)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REDUCTION, points, product

_PAPER = product(**views.together("shape,dim,index", [(s, 0, s[0] // 2) for s in REDUCTION]), dtype=FLOATS, timed=True)
_AWKWARD = points(
    {"shape": (5, 6), "dtype": "float32", "dim": 1, "index": 3},
    {"shape": (5, 6), "dtype": "float32", "dim": -1, "index": -2},
    {"shape": (3, 4, 5), "dtype": "float16", "dim": 1, "index": -4, "layout": "transposed"},
    {"shape": (7,), "dtype": "int64", "dim": 0, "index": 6, "layout": "dilated"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "index": 2, "layout": "offset"},
    {"shape": (4, 5), "dtype": "bfloat16", "dim": 0, "index": 3, "layout": "sliced"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "index": 3, "layout": "expanded"},
    {"shape": (4, 0), "dtype": "float32", "dim": 0, "index": 2},
    {"shape": (4, 5), "dtype": "complex64", "dim": 1, "index": 2, "bit": "conj"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "index": 2, "bit": "neg"},
    *({"shape": (3, 7), "dtype": d, "dim": 1, "index": 5} for d in views.FURTHER_DTYPES),
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "index": 4, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "index": -5, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "index": 0, "origin": "beyond"},
    {"shape": (), "dtype": "float32", "dim": 0, "index": 0, "origin": "beyond"},
)
_SMALL = [((1, 2), 0, 0), ((16, 24), 0, 8), ((10, 31, 3), 0, 5)]

OPERATOR = Operator(
    source="aten",
    name="select",
    interfaces=(
        Interface(
            "select.int",
            views.select,
            suites(
                paper=(_PAPER, _AWKWARD),
                quick=(product(**views.together("shape,dim,index", _SMALL), dtype=FLOATS), _AWKWARD),
                smoke=(
                    points(
                        {"shape": (5, 6), "dtype": "float32", "dim": 1, "index": 3},
                        {"shape": (4, 5), "dtype": "float16", "dim": 0, "index": -1, "layout": "offset"},
                    ),
                ),
            ),
            views.place_jitter,
        ),
    ),
    compare=Exact(),
    description="The slice of `self` at one index of a dimension, which disappears: a view.",
    notes=(
        "A negative dimension or index counts from the end; one out of range is an IndexError, as is a 0-d `self`.",
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    left_out=(
        ("select.t", "TorchScript builtin: not in the dispatcher"),
        ("select.Dimname", "named dimensions: not in every release of PyTorch"),
    ),
    family="views",
)
