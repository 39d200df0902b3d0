"""Subtraction, `self - alpha · other` (aten::sub)."""

from kgb_gym.operators.aten.families import additive
from kgb_gym.operators.aten.families.binary import sum_of_magnitudes
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS

OPERATOR = Operator(
    source="aten",
    name="sub",
    interfaces=additive.functional("sub"),
    compare=Close(scale=sum_of_magnitudes, own=2.0),
    description="Subtracts `alpha` times the second operand from the first, element by element, with broadcasting.",
    notes=additive.SUBTRACTION_NOTES,
    left_out=builtins(
        "sub", "int complex float int_complex complex_int float_complex complex_float int_float float_int default"
    ),
    usual=NUMBERS,
    family="additive",
)
