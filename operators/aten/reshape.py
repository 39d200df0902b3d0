"""The same elements in another shape (aten::reshape)."""

from kgb_gym.operators.aten.families import views
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.grids import FLOATS, REAL, points, product
from kgb_gym.operators.policy import NO_COPY

_PUBLISHED = (
    ((2, 3), (3, 2)), ((2, 3), (1, 6)), ((2, 3), (-1,)), ((128, 256), (256, 128)), ((128, 256), (32, -1)),
    ((128, 256), (-1, 128)), ((64, 64, 64), (-1,)), ((64, 64, 64), (64, 4096)), ((512, 512), (-1,)),
    ((256, 512), (512, 256)),
)  # fmt: skip
_PERMUTED = (
    ((64, 32), (-1,), (1, 0)), ((128, 64), (128, 64), (1, 0)), ((32, 8, 16), (256, 16), (1, 2, 0)),
    ((64, 64, 64), (4096, 64), (2, 0, 1)),
)  # fmt: skip
_AWKWARD = points(
    {"shape": (), "dtype": "float32", "size": (1, 1)},
    {"shape": (1,), "dtype": "int64", "size": ()},
    {"shape": (0, 3), "dtype": "float32", "size": (3, 0, 5)},
    {"shape": (4, 6), "dtype": "float32", "layout": "sliced", "size": (2, 2, 6)},
    {"shape": (4, 6), "dtype": "float32", "layout": "sliced", "size": (24,)},
    {"shape": (4, 6), "dtype": "float16", "layout": "dilated", "size": (-1,)},
    {"shape": (4, 6), "dtype": "bfloat16", "layout": "expanded", "size": (8, 3)},
    {"shape": (4, 6), "dtype": "float32", "layout": "expanded", "size": (2, 2, 6)},
    {"shape": (4, 6), "dtype": "float64", "layout": "offset", "size": (3, 8)},
    {"shape": (3, 1037), "dtype": "float32", "layout": "transposed", "size": (1037, 3)},
    {"shape": (3, 4, 5), "dtype": "int32", "layout": "transposed", "size": (12, 5)},
    {"shape": (4, 6), "dtype": "complex64", "bit": "conj", "size": (24,)},
    {"shape": (4, 6), "dtype": "complex64", "bit": "conj", "layout": "transposed", "size": (24,)},
    {"shape": (4, 6), "dtype": "float32", "bit": "neg", "layout": "transposed", "size": (24,)},
    *({"shape": (6, 5), "dtype": d, "layout": "transposed", "size": (3, 10)} for d in views.FURTHER_DTYPES),
    {"shape": (4, 6), "dtype": "float32", "size": (5, -1), "origin": "beyond"},
    {"shape": (4, 6), "dtype": "float32", "size": (-1, -1), "origin": "beyond"},
    {"shape": (0, 3), "dtype": "float32", "size": (-1, 0), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="reshape",
    interfaces=(
        Interface(
            "reshape",
            views.reshape,
            suites(
                paper=(
                    product(**views.together("shape,size", _PUBLISHED), dtype=FLOATS, timed=True),
                    product(**views.together("shape,size,permuted", _PERMUTED), dtype=FLOATS, timed=True),
                    _AWKWARD,
                ),
                quick=(
                    product(**views.together("shape,size", (*_PUBLISHED[:3], ((16, 24), (12, -1)))), dtype=FLOATS[1:2]),
                    product(
                        **views.together(
                            "shape,size,permuted", (((8, 6), (-1,), (1, 0)), ((8, 6, 4), (48, 4), (2, 0, 1)))
                        ),
                        dtype=FLOATS,
                    ),
                    _AWKWARD,
                ),
                smoke=(
                    points(
                        {"shape": (4, 6), "dtype": "float32", "layout": "offset", "size": (3, 8)},
                        {"shape": (4, 6), "dtype": "float16", "layout": "transposed", "size": (24,)},
                    ),
                ),
            ),
            views.reshape_jitter,
        ),
    ),
    compare=Exact(),
    description="The elements of `self` in row-major order under another shape: a view where strides allow it, else a copy.",
    notes=(
        (
            "One size may be -1 and follows from the others. Two of them, an ambiguous one, and another number of elements are "
            "RuntimeErrors."
        ),
        (
            "Where the shape can be expressed by strides over the same memory the answer must be that view (as of "
            "`Tensor.view`). Otherwise it is a new contiguous tensor, and the copy is a kernel's business."
        ),
        "A set conjugate or negative bit stays on a view and is carried out by a copy.",
    ),
    view=True,
    strides=True,
    policy=NO_COPY,
    exemptions=(views.SAME_VALUES,),
    usual=REAL,
    family="views",
)
