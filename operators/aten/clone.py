"""A copy (aten::clone)."""

from kgb_gym.operators.aten.families import copies
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, pairwise, points, product
from kgb_gym.operators.policy import RESHAPED_INPUTS

_DTYPES = ("float16", "float32", "bfloat16", "int32", "int64")
_CASES = points(
    *copies.LAID,
    *copies.FORMATTED,
    {"shape": (5, 7), "dtype": "float32", "layout": "transposed", "memory_format": "preserve"},
    *({"shape": (5, 7), "dtype": d, "layout": "sliced"} for d in ("bool", "uint8", "complex128")),
)
_OUT = points(
    {"shape": (13, 31), "dtype": "float32", "layout": "transposed"},
    {"shape": (7, 33), "dtype": "float16", "out": "empty", "layout": "dilated"},
    {"shape": (5, 3, 11), "dtype": "bfloat16", "out": "irregular"},
    {"shape": (5, 7), "dtype": "complex64", "bit": "conj"},
    {"shape": (5, 7), "dtype": "float32", "to": "int32"},
)

OPERATOR = Operator(
    source="aten",
    name="clone",
    interfaces=(
        copies.interface(
            "clone",
            copies.single(),
            paper=(
                product(shape=POINTWISE, dtype=_DTYPES, timed=True),
                product(shape=POINTWISE, dtype=("float32",), memory_format=("contiguous",), timed=True),
                _CASES,
            ),
            quick=(
                pairwise(shape=((1,), (23, 41), (4, 16, 15)), dtype=_DTYPES),
                _CASES.where(lambda p: "bit" not in p or p["bit"] == "conj"),
            ),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "layout": "transposed"}),
        ),
        copies.interface(
            "clone.out",
            copies.single_out,
            paper=(_OUT,),
            quick=(
                _OUT.where(lambda p: p.get("bit") is None),
                points({"shape": (5, 7), "dtype": "float32", "bit": "neg"}),
            ),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "out": "empty"}),
        ),
    ),
    compare=Exact(),
    description="A new tensor with the elements of `self`.",
    notes=(
        copies.LAYOUT,
        copies.BITS,
        "`out` is brought to the shape of `self` and may have any strides; one of another dtype is a RuntimeError.",
    ),
    strides=True,
    policy=RESHAPED_INPUTS,
    exemptions=(copies.FRESH,),
    family="copies",
)
