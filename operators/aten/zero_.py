"""Zeros in place (aten::zero_)."""

from kgb_gym.operators.aten.families import common, factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import POINTWISE, REAL, pairwise, points, product

_DTYPES = ("float16", "float32", "bfloat16", "int16", "int32", "int64")
_LAID = points(
    *factories.LAID,
    *({"shape": (7, 9), "dtype": d} for d in ("bool", "uint8", "int8", "float64", "complex64", "complex128")),
    {"shape": (6, 5), "dtype": "complex64", "layout": "transposed"},
)

OPERATOR = Operator(
    source="aten",
    name="zero_",
    interfaces=(
        factories.interface(
            "zero_",
            factories.in_place,
            paper=(product(shape=POINTWISE, dtype=_DTYPES, timed=True), points(*factories.STRIDED), _LAID),
            quick=(pairwise(shape=factories.QUICK_SHAPES[1:5], dtype=_DTYPES, layout=("contiguous",)), _LAID),
            smoke=({"shape": (17,), "dtype": "float32"}, {"shape": (3, 5), "dtype": "int64", "layout": "dilated"}),
            jitter=common.jitter,
        ),
    ),
    compare=Exact(),
    description="Sets every element of `self` to zero, in place, and returns `self` itself.",
    notes=(
        (
            "`self` may have any dtype and any strides, also 0 (an expanded tensor); memory between its elements must keep "
            "its bits."
        ),
    ),
    policy=factories.POLICY,
    exemptions=(*factories.ZEROS, factories.NEIGHBOUR),
    usual=REAL,
    family="fill",
)
