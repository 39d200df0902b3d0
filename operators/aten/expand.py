"""Broadcasting to a size, as a view (aten::expand)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import points

_AWKWARD = points(
    {"shape": (3, 1), "dtype": "float32", "size": (2, -1, 5)},
    {"shape": (3, 4), "dtype": "float32", "size": (3, 4)},
    {"shape": (3, 1), "dtype": "float32", "size": (1, 1, -1, -1)},
    {"shape": (), "dtype": "int64", "size": (3, 2)},
    {"shape": (), "dtype": "float32", "size": ()},
    {"shape": (1, 3), "dtype": "float32", "size": (0, 3)},
    {"shape": (0, 1), "dtype": "float32", "size": (2, 0, 4)},
    {"shape": (5, 1), "dtype": "bfloat16", "layout": "sliced", "size": (5, 6)},
    {"shape": (4, 3), "dtype": "float32", "layout": "expanded", "size": (2, 4, 3)},
    {"shape": (4, 1), "dtype": "float16", "layout": "offset", "size": (4, 7)},
    {"shape": (5, 1), "dtype": "complex64", "bit": "conj", "size": (5, 3)},
    {"shape": (5, 1), "dtype": "float32", "bit": "neg", "size": (5, 3)},
    *({"shape": (3, 1), "dtype": d, "size": (3, 4)} for d in views.FURTHER_DTYPES),
    {"shape": (3, 2), "dtype": "float32", "size": (3, 4), "origin": "beyond"},
    {"shape": (3, 2), "dtype": "float32", "size": (2,), "origin": "beyond"},
    {"shape": (3, 2), "dtype": "float32", "size": (-1, 3, 2), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="expand",
    interfaces=(views.expansion("expand", views.expand, _AWKWARD),),
    compare=Exact(),
    description="Broadcasts `self` to a size without moving data: expanded dimensions have stride 0.",
    notes=(
        (
            "New dimensions come first; -1 keeps a dimension's size (for a new one it is a RuntimeError, as are sizes that do "
            "not broadcast and fewer dimensions than `self` has)."
        ),
        (
            "A new dimension of size 1 has the stride that it would have if it were not new: the size times the stride of the "
            "dimension after it (1 if there is none)."
        ),
        "`implicit` is without effect.",
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    family="views",
)
