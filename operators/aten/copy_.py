"""A copy into a given tensor (aten::copy_)."""

from kgb_gym.operators.aten.families import copies, views
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, POINTWISE, REAL, pairwise, points, product
from kgb_gym.operators.policy import RESHAPED_INPUTS

_SAME = views.together("dtype,to", [(d, d) for d in FLOATS])
_PAIRS = views.together("dtype,to", [("float32", "int32"), ("int16", "float32"), ("bool", "float32")])
_CASES = points(
    *copies.CONVERTED,
    {"shape": (5, 6, 7), "dtype": "float32", "to": "float32", "src": (6, 1), "into_layout": "transposed"},
    {"shape": (3, 1037), "dtype": "float32", "to": "float32", "src": (), "into_layout": "dilated"},
    {"shape": (4, 3, 2, 3), "dtype": "float16", "to": "float32", "src": (2, 3), "into_layout": "irregular"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "into_layout": "offset", "layout": "transposed"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "into_layout": "sliced", "bit": "neg"},
    {"shape": (5, 7), "dtype": "complex64", "to": "complex64", "into_layout": "transposed", "bit": "conj"},
    {"shape": (0, 3), "dtype": "float32", "to": "float32"},
    {"shape": (43,), "dtype": "float64", "to": "float64"},
    {"shape": (9, 41), "dtype": "int32", "to": "int64"},
    {"shape": (9,), "dtype": "float32", "to": "float32", "share": "self"},
    {"shape": (9,), "dtype": "float32", "to": "float32", "share": "shifted", "origin": "beyond"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "into_layout": "expanded", "origin": "beyond"},
    {"shape": (5, 7), "dtype": "float32", "to": "float32", "src": (5,), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="copy_",
    interfaces=(
        copies.interface(
            "copy_",
            copies.into,
            paper=(
                product(shape=POINTWISE, **_SAME, timed=True),
                product(shape=((1024, 1024),), **_PAIRS, timed=True),
                _CASES,
            ),
            quick=(
                pairwise(shape=((1,), (23, 41)), **_SAME),
                product(shape=((8, 9),), **_PAIRS),
                _CASES,
            ),
            smoke=(
                {"shape": (17,), "dtype": "float32", "to": "float32"},
                {"shape": (3, 5), "dtype": "int64", "to": "float32", "into_layout": "transposed"},
            ),
            jitter=copies.into_jitter,
        ),
    ),
    compare=Exact(),
    description="Writes the elements of `src`, converted and broadcast, to `self` and returns `self` itself.",
    notes=(
        copies.CONVERSION,
        "Both may have any strides; memory between the elements of `self` must keep its bits.",
        (
            "A `src` that does not broadcast, an expanded `self`, and a `src` that shares part of the memory of `self` (both "
            "dense) are RuntimeErrors; a copy onto itself changes nothing. Both are on one device."
        ),
        (
            "`src` comes with its conjugate or negative bit, if it has one: `is_conj()`, `is_neg()`; `src.conj()` is then a view "
            "of the plain memory, which `torch.view_as_real` shows as pairs. A kernel that is given a tensor with the negative "
            "bit sees its plain memory."
        ),
    ),
    policy=RESHAPED_INPUTS,
    left_out=(
        ("copy_.Tensor", "TorchScript builtin: not in the dispatcher"),
        ("copy_.int", "TorchScript builtin: not in the dispatcher"),
        ("copy_.float", "TorchScript builtin: not in the dispatcher"),
    ),
    usual=REAL,
    family="copies",
)
