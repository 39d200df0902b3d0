"""A number as a tensor without dimensions (aten::scalar_tensor)."""

from kgb_gym.operators.aten.families import factories
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATS, REAL, pairwise, points, product

_VALUES = (-7, -1, 0, 3, 12345, -1.5, 2.75, 3.14159)
_CASES = points(
    {"value": 5},
    {"value": True},
    {"value": 0.1},
    {"value": "nan", "dtype": "float32"},
    {"value": "-inf", "dtype": "float16"},
    {"value": 0.125, "dtype": "float64"},
    {"value": 0.1, "dtype": "float64", "origin": "beyond"},
    {"value": -2.7, "dtype": "int32"},
    {"value": 2**62 + 1, "dtype": "int64", "origin": "beyond"},
    {"value": 0.5, "dtype": "bool"},
    {"value": (1.5, -2.0), "dtype": "complex64"},
    {"value": 3, "dtype": "uint8"},
)
_OUTS = points(
    {"value": 2.75, "dtype": "float32"},
    {"value": 3.7, "dtype": "int32", "size": (4,)},
    {"value": 0.1, "dtype": "float64", "size": (0,), "origin": "beyond"},
    {"value": -1.5, "dtype": "bfloat16"},
    {"value": True, "dtype": "bool", "size": (0,)},
)

OPERATOR = Operator(
    source="aten",
    name="scalar_tensor",
    interfaces=(
        factories.interface(
            "scalar_tensor",
            factories.scalar,
            paper=(product(value=_VALUES, dtype=FLOATS, timed=True), _CASES),
            quick=(pairwise(value=_VALUES, dtype=FLOATS), _CASES.where(lambda p: p["value"] != 3)),
            smoke=({"value": 2.5, "dtype": "float32"}, {"value": 7, "dtype": "int64"}),
            jitter=factories.value_jitter,
        ),
        factories.interface(
            "scalar_tensor.out",
            factories.scalar_out,
            paper=(_OUTS,),
            quick=(_OUTS,),
            smoke=({"value": 2.5, "dtype": "float32"}, {"value": 7, "dtype": "int64", "size": (0,)}),
            jitter=factories.value_jitter,
        ),
    ),
    compare=Exact(),
    description="A new tensor without dimensions that holds the number `s`, on the given device.",
    notes=(
        "Without `dtype` the answer has the default floating-point dtype, whatever the number is.",
        "The number is converted to the dtype: towards zero for integers, `!= 0` for bool.",
        factories.OUT_NOTE,
    ),
    policy=factories.POLICY,
    exemptions=(factories.NEIGHBOUR,),
    usual=REAL,
    family="fill",
)
