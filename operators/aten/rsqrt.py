"""Reciprocal square root, element by element (aten::rsqrt)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

OPERATOR = Operator(
    source="aten",
    name="rsqrt",
    interfaces=unary.interfaces(
        "rsqrt", kind="positive", integer_kind="counts", further=({"shape": (63,), "dtype": "float32"},)
    ),
    compare=Close(slack=4.0),
    description="One over the square root of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Zero gives an infinity of its sign, a negative number NaN, infinity zero.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    usual=FLOATING,
    family="unary",
)
