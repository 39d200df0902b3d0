"""Addition, `self + alpha · other` (aten::add)."""

from kgb_gym.operators.aten.families import additive
from kgb_gym.operators.aten.families.binary import sum_of_magnitudes
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

OPERATOR = Operator(
    source="aten",
    name="add",
    interfaces=additive.functional("add"),
    compare=Close(scale=sum_of_magnitudes, own=2.0),
    description="Adds `alpha` times the second operand to the first, element by element, with broadcasting.",
    notes=additive.NOTES,
    left_out=tuple(
        (f"add.{overload}", "TorchScript builtin: not in the dispatcher")
        for overload in ("t", "str", "int", "complex", "float", "int_complex", "complex_int", "float_complex",
                         "complex_float", "int_float", "float_int", "default")
    ),
    usual=REAL,
    family="additive",
)  # fmt: skip
