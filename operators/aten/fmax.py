"""Larger of two operands, ignoring NaN (aten::fmax)."""

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import tensor_tensor
from kgb_gym.operators.aten.families.unary import PUBLISHED
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS

_FURTHER = ({"shape": (33,), "dtype": "bool"}, {"shape": (77,), "dtype": "int8", "other_dtype": "int64"})
_OUT = (
    {"shape": (45,), "dtype": "float32", "out_dtype": "int32", "origin": "beyond"},
    {"shape": (45,), "dtype": "int16"},
)

OPERATOR = Operator(
    source="aten",
    name="fmax",
    interfaces=(
        pairs.tensors("fmax", further=_FURTHER, published=PUBLISHED),
        pairs.out("fmax.out", tensor_tensor, further=_OUT),
    ),
    compare=Exact(),
    description="The larger of two operands, element by element, with broadcasting; a NaN yields to a number.",
    notes=(pairs.PROMOTION_NOTE, "Where both are NaN the answer is NaN.", pairs.OUT_NOTE),
    usual=NUMBERS,
    family="extremum",
)
