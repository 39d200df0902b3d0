"""A range of one dimension, as a view (aten::narrow)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, POINTWISE, points, product

_PAPER = [(s, 0, s[0] // 4, max(1, s[0] // 2)) for s in POINTWISE[1:]]
_SMALL = [((1,), 0, 0, 1), ((16, 24), 0, 4, 8), ((4, 16, 15), 2, 3, 7)]
_AWKWARD = points(
    {"shape": (5, 6), "dtype": "float32", "dim": -1, "start": -1, "length": 1},
    {"shape": (5, 6), "dtype": "float32", "dim": 1, "start": 6, "length": 0},
    {"shape": (5, 6), "dtype": "float32", "dim": 0, "start": 0, "length": 5},
    {"shape": (0, 6), "dtype": "float32", "dim": 1, "start": 2, "length": 2},
    {"shape": (3, 4, 5), "dtype": "float16", "dim": 1, "start": 1, "length": 2, "layout": "transposed"},
    {"shape": (7,), "dtype": "int64", "dim": 0, "start": 2, "length": 4, "layout": "dilated"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "start": 1, "length": 2, "layout": "offset"},
    {"shape": (4, 5), "dtype": "bfloat16", "dim": 1, "start": 1, "length": 2, "layout": "sliced"},
    {"shape": (4, 5), "dtype": "complex64", "dim": 1, "start": 1, "length": 2, "bit": "conj"},
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "start": 1, "length": 2, "bit": "neg"},
    *({"shape": (3, 7), "dtype": d, "dim": 1, "start": 2, "length": 3} for d in views.FURTHER_DTYPES),
    {"shape": (4, 5), "dtype": "float32", "dim": 1, "start": 3, "length": 3, "layout": "sliced", "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "start": 1, "length": -1, "origin": "beyond"},
    {"shape": (4, 5), "dtype": "float32", "dim": 2, "start": 0, "length": 1, "origin": "beyond"},
    {"shape": (), "dtype": "float32", "dim": 0, "start": 0, "length": 1, "origin": "beyond"},
)
_TENSOR = points(
    {"shape": (16, 24), "dtype": "float32", "dim": 0, "start": 4, "length": 8},
    {"shape": (5, 6), "dtype": "float16", "dim": -1, "start": -4, "length": 3, "start_dtype": "int32"},
    {
        "shape": (4, 5),
        "dtype": "bfloat16",
        "dim": 0,
        "start": 1,
        "length": 2,
        "layout": "offset",
        "start_dtype": "int16",
    },
    {"shape": (4, 5), "dtype": "int64", "dim": 1, "start": 1, "length": 2, "layout": "transposed"},
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "start": 3, "length": 2, "origin": "beyond"},
    {
        "shape": (4, 5),
        "dtype": "float32",
        "dim": 0,
        "start": 1,
        "length": 2,
        "start_dtype": "float32",
        "origin": "beyond",
    },
    {"shape": (4, 5), "dtype": "float32", "dim": 0, "start": 1, "length": 2, "start_shape": (1,), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="narrow",
    interfaces=(
        Interface(
            "narrow",
            views.narrow,
            suites(
                paper=(product(**views.together("shape,dim,start,length", _PAPER), dtype=FLOATS, timed=True), _AWKWARD),
                quick=(product(**views.together("shape,dim,start,length", _SMALL), dtype=FLOATS[:2]), _AWKWARD),
                smoke=(
                    points(
                        {"shape": (5, 6), "dtype": "float32", "dim": 1, "start": 2, "length": 3},
                        {"shape": (4, 5), "dtype": "float16", "dim": 0, "start": 1, "length": 2, "layout": "offset"},
                    ),
                ),
            ),
            views.place_jitter,
        ),
        Interface(
            "narrow.Tensor",
            views.narrow_tensor,
            suites(
                paper=(_TENSOR,),
                quick=(_TENSOR,),
                smoke=(
                    points(
                        {"shape": (5, 6), "dtype": "float32", "dim": 1, "start": 2, "length": 3},
                        {"shape": (4, 5), "dtype": "float16", "dim": 0, "start": 1, "length": 2, "layout": "offset"},
                    ),
                ),
            ),
            views.place_jitter,
        ),
    ),
    compare=Exact(),
    description="The range of `length` indices from `start` of one dimension: a view.",
    notes=(
        (
            "A negative dimension or start counts from the end; a length of 0 is right, a negative one, a range that leaves the "
            "dimension, and a 0-d `self` are errors."
        ),
        (
            "`start` may come as a tensor without dimensions of an integer type, which may be read back; another one is a "
            "RuntimeError."
        ),
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    data_dependent=True,
    family="views",
)
