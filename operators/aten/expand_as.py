"""Broadcasting to the size of another tensor, as a view (aten::expand_as)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import points

_AWKWARD = points(
    {"shape": (3, 4), "dtype": "float32", "size": (3, 4)},
    {"shape": (3, 1), "dtype": "float32", "size": (1, 1, 3, 1)},
    {"shape": (), "dtype": "int64", "size": (3, 2), "other": "bool"},
    {"shape": (1, 3), "dtype": "float32", "size": (0, 3)},
    {"shape": (5, 1), "dtype": "bfloat16", "layout": "sliced", "size": (5, 6), "other": "int64"},
    {"shape": (4, 3), "dtype": "float32", "layout": "expanded", "size": (2, 4, 3)},
    {"shape": (4, 1), "dtype": "float16", "layout": "offset", "size": (4, 7)},
    {"shape": (5, 1), "dtype": "complex64", "bit": "conj", "size": (5, 3)},
    {"shape": (5, 1), "dtype": "float32", "bit": "neg", "size": (5, 3)},
    *({"shape": (3, 1), "dtype": d, "size": (3, 4)} for d in views.FURTHER_DTYPES),
    {"shape": (3, 2), "dtype": "float32", "size": (3, 4), "origin": "beyond"},
    {"shape": (3, 2), "dtype": "float32", "size": (2,), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="expand_as",
    interfaces=(views.expansion("expand_as", views.expand_as, _AWKWARD),),
    compare=Exact(),
    description="Broadcasts `self` to the size of `other` without moving data: expanded dimensions have stride 0.",
    notes=(
        (
            "The dtype of `other` does not matter. Sizes that do not broadcast, and fewer dimensions than `self` has, are "
            "RuntimeErrors."
        ),
        "A new dimension of size 1 has the size times the stride of the dimension after it as its stride.",
        views.ALIAS,
        views.BITS,
    ),
    view=True,
    kernel_required=False,
    family="views",
)
