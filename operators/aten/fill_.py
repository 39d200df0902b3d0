"""Fill with one number, in place (aten::fill_)."""

from kgb_gym.operators.aten.families import common, factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, POINTWISE, pairwise, points, product

_VALUES = ({"shape": (7,), "dtype": "int32", "value": -2.7}, {"shape": (5, 3), "dtype": "bool", "value": 0.5})
_SCALAR = points(
    *({"value": 2.5, **p} for p in factories.LAID),
    *_VALUES,
    {"shape": (33,), "dtype": "float64", "value": 3.141592653589793},
    {"shape": (11,), "dtype": "float32", "value": "nan"},
    {"shape": (11,), "dtype": "float16", "value": "-inf"},
    {"shape": (6,), "dtype": "int64", "value": 2**62 + 1},
    {"shape": (5, 4), "dtype": "complex64", "value": (1.5, -2.0), "layout": "transposed"},
    {"shape": (6,), "dtype": "int8", "value": 300},
    {"shape": (6,), "dtype": "float16", "value": 1e5},
)
_TENSOR = points(
    {"shape": (13, 31), "dtype": "float32", "value": 2.5, "layout": "sliced"},
    {"shape": (7, 5), "dtype": "float16", "value": -3, "by_dtype": "int64"},
    {"shape": (9,), "dtype": "int32", "value": -2.7, "by_dtype": "float32"},
    {"shape": (9,), "dtype": "bool", "value": 0.25, "by_dtype": "float32"},
    {"shape": (9,), "dtype": "bool", "value": 0, "by_dtype": "float32"},
    {"shape": (4, 3), "dtype": "float64", "value": 3.141592653589793},
    {"shape": (3, 5), "dtype": "bfloat16", "value": 1.3, "by_dtype": "float64", "layout": "expanded"},
    {"shape": (8,), "dtype": "complex64", "value": (0.5, 2.0)},
    {"shape": (9,), "dtype": "complex64", "value": 3, "by_dtype": "float16"},
    {"shape": (5,), "dtype": "float32", "value": 1.5, "by": "1d"},
)
_BY_TENSOR = points(*({"by": "0d", **p} for p in _TENSOR.points))

OPERATOR = Operator(
    source="aten",
    name="fill_",
    interfaces=(
        factories.interface(
            "fill_.Scalar",
            factories.in_place,
            paper=(
                product(shape=POINTWISE, dtype=FLOATS, value=(0, 1, 9), timed=True),
                points(*({"value": 2, **p} for p in factories.STRIDED)),
                _SCALAR,
            ),
            quick=(pairwise(shape=factories.QUICK_SHAPES[1:5], dtype=FLOATS, value=(0, 1, 9)), _SCALAR),
            smoke=({"shape": (17,), "dtype": "float32", "value": 9}, {"shape": (3, 5), "dtype": "int64", "value": -2}),
            jitter=common.jitter,
        ),
        factories.interface(
            "fill_.Tensor",
            factories.in_place,
            paper=(product(shape=POINTWISE[2:5], dtype=FLOATS, value=(9,), by=("0d",), origin="extra"), _BY_TENSOR),
            quick=(_BY_TENSOR,),
            smoke=(
                {"shape": (17,), "dtype": "float32", "value": 9, "by": "0d"},
                {"shape": (3, 5), "dtype": "int64", "value": -2, "by": "0d"},
            ),
            jitter=common.jitter,
            reads=("value",),
        ),
    ),
    compare=Exact(),
    description="Sets every element of `self` to one number, in place, and returns `self` itself.",
    notes=(
        (
            "The number comes as a Python number, or as a 0-d tensor of any dtype on the same device (another rank is a "
            "RuntimeError); it is converted to `self`'s dtype: towards zero for integers, `!= 0` for bool."
        ),
        (
            "A Python number that the dtype cannot hold is a RuntimeError: too large a finite one, or NaN and infinities for "
            "integers."
        ),
        (
            "`self` may have any strides; memory between its elements must keep its bits. Filled with a Python number it may "
            "also be an expanded tensor (of stride 0), which with a tensor is a RuntimeError."
        ),
    ),
    policy=factories.POLICY,
    exemptions=(factories.NEIGHBOUR,),
    family="fill",
)
