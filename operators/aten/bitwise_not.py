"""Bitwise complement, element by element (aten::bitwise_not)."""

from kgb_gym.operators.aten.families import integral
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import WHOLE

OPERATOR = Operator(
    source="aten",
    name="bitwise_not",
    interfaces=integral.unary("bitwise_not"),
    compare=Exact(),
    description="Every bit of every integer inverted, in the input's type; bools are negated.",
    notes=(
        "Floating-point tensors are an error (NotImplementedError); `out` must have the input's type (RuntimeError).",
    ),
    usual=WHOLE | {"bool"},
    family="unary",
)
