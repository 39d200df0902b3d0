"""Pieces of given sizes along a dimension, as views (aten::unsafe_split_with_sizes)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, points, product
from kgb_gym.operators.policy import CONVERTED_INPUTS

_PUBLISHED = (
    ((2, 3), (1, 1), 0), ((2, 3), (1, 2), 1), ((128, 256), (64, 64), 0), ((128, 256), (100, 156), 1),
    ((512, 512), (128, 128, 256), 0), ((512, 512), (256, 256), 1), ((64, 32, 16), (4, 4, 4, 4), 2),
    ((64, 32, 16), (10, 10, 12), 1), ((64, 32, 16), (16,), -1),
)  # fmt: skip
_PAPER = product(**views.together("shape,split,dim", _PUBLISHED), dtype=FLOATS, timed=True)

_AWKWARD = points(
    {"shape": (7, 3), "dtype": "float32", "split": (3, 0, 4)},
    {"shape": (5, 4), "dtype": "float32", "split": (5,), "dim": -2},
    {"shape": (0, 3), "dtype": "float32", "split": (0, 0)},
    {"shape": (5, 6), "dtype": "float16", "split": (4, 2), "dim": 1, "layout": "transposed"},
    {"shape": (9,), "dtype": "int64", "split": (4, 5), "layout": "dilated"},
    {"shape": (5, 6), "dtype": "bfloat16", "split": (2, 4), "dim": 1, "layout": "sliced"},
    {"shape": (5, 6), "dtype": "float32", "split": (2, 3), "layout": "offset"},
    *({"shape": (5, 7), "dtype": d, "split": (3, 4), "dim": 1} for d in views.FURTHER_DTYPES),
    {"shape": (5, 6), "dtype": "float32", "split": (2, 2)},
    {"shape": (5, 6), "dtype": "float32", "split": (7, -2)},
    {"shape": (), "dtype": "float32", "split": (1,)},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "split": (5, 8)},
    {"shape": (7, 6), "dtype": "float16", "split": (4, 2), "dim": 1, "out": "empty", "layout": "transposed"},
    {"shape": (9, 5), "dtype": "bfloat16", "split": (4, 0, 5), "out": "dilated"},
    {"shape": (3, 1037), "dtype": "int32", "split": (1030, 7), "dim": -1, "out": "transposed"},
    {"shape": (4, 3, 2, 3), "dtype": "float64", "split": (3, 1), "layout": "sliced", "out": "irregular"},
    {"shape": (4, 5), "dtype": "complex64", "split": (3, 2), "dim": 1},
    {"shape": (4, 5), "dtype": "bool", "split": (3, 1)},
)

OPERATOR = Operator(
    source="aten",
    name="unsafe_split_with_sizes",
    interfaces=(
        Interface(
            "unsafe_split_with_sizes",
            views.split,
            suites(
                paper=(_PAPER, _AWKWARD),
                quick=(
                    product(
                        **views.together(
                            "shape,split,dim", (*_PUBLISHED[:2], ((16, 24), (10, 14), 1), ((8, 6, 4), (1, 1, 2), -1))
                        ),
                        dtype=FLOATS[:2],
                    ),
                    _AWKWARD,
                ),
                smoke=(
                    points(
                        {"shape": (7, 3), "dtype": "float32", "split": (3, 4)},
                        {"shape": (5, 6), "dtype": "float16", "split": (4, 2), "dim": 1},
                    ),
                ),
            ),
            views.split_jitter,
        ),
        Interface(
            "unsafe_split_with_sizes.out",
            views.split_out,
            suites(
                paper=(_PAPER, _OUT),
                quick=(_OUT,),
                smoke=(
                    points(
                        {"shape": (7, 3), "dtype": "float32", "split": (3, 4)},
                        {"shape": (5, 6), "dtype": "float16", "split": (4, 2), "dim": 1},
                    ),
                ),
            ),
            views.split_jitter,
        ),
    ),
    compare=Exact(),
    description="Cuts `self` along a dimension into pieces of the given sizes.",
    notes=(
        "A size may be 0. Sizes that do not add up to the dimension, a negative one, and a 0-d `self` are RuntimeErrors.",
        "The pieces are views: each shares the memory of `self`, with the strides and the storage offset of a slice.",
        (
            "With `out`, a list of one tensor a piece, the pieces are written there by kernels: an `out` may be of another size "
            "(and is then resized) and have any strides; nothing is returned."
        ),
    ),
    view=True,
    policy=CONVERTED_INPUTS,
    family="views",
)
