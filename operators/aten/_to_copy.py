"""A converted copy (aten::_to_copy)."""

from kgb_gym.operators.aten.families import copies
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, REAL, pairwise, points, product
from kgb_gym.operators.policy import RESHAPED_INPUTS

_TO = ("float16", "float32", "bfloat16", "float64")
_CASES = points(
    *(p for p in copies.CONVERTED if "bit" not in p),
    {"shape": (5, 7), "dtype": "complex64", "to": "complex128", "layout": "transposed"},
    *(copies.LAID[i] for i in (0, 2, 6, 7)),
    *({**p, "to": "float64"} for p in copies.FORMATTED[:3]),
    {"shape": (3, 4, 5, 6), "dtype": "float32", "permuted": (2, 0, 3, 1), "to": "int32", "device": True},
    {"shape": (3, 1037), "dtype": "float32", "layout": "sliced", "to": "float16"},
    {"shape": (9, 41), "dtype": "int32", "to": "int64"},
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (7, 33), "dtype": "float32", "to": "int32", "out": "empty", "layout": "dilated"},
    {"shape": (5, 3, 11), "dtype": "float32", "to": "bfloat16", "out": "irregular"},
)

OPERATOR = Operator(
    source="aten",
    name="_to_copy",
    interfaces=(
        copies.interface(
            "_to_copy",
            copies.single(),
            paper=(
                product(shape=POINTWISE, to=_TO, dtype=("float32",), timed=True),
                product(
                    shape=POINTWISE[2:3],
                    to=("float16",),
                    dtype=("float32",),
                    memory_format=("preserve", "contiguous"),
                    timed=True,
                ),
                _CASES,
            ),
            quick=(
                pairwise(shape=((1,), (23, 41)), to=_TO, dtype=("float32",)),
                _CASES,
            ),
            smoke=(
                {"shape": (17,), "dtype": "float32", "to": "float16"},
                {"shape": (3, 5), "dtype": "int64", "layout": "transposed"},
            ),
        ),
        copies.interface(
            "_to_copy.out",
            copies.single_out,
            paper=(_OUT,),
            quick=(_OUT,),
            smoke=(
                {"shape": (17,), "dtype": "float32", "to": "float16"},
                {"shape": (3, 5), "dtype": "int64", "out": "empty"},
            ),
        ),
    ),
    compare=Exact(),
    description="A new tensor with the elements of `self`, converted to a dtype: never `self` itself.",
    notes=(
        copies.CONVERSION,
        copies.LAYOUT,
        (
            "`device` is always that of `self`. `out` is brought to the shape of `self`, keeps its dtype and may have any "
            "strides."
        ),
    ),
    strides=True,
    policy=RESHAPED_INPUTS,
    exemptions=(copies.FRESH,),
    usual=REAL,
    family="copies",
)
