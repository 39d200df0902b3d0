"""Addition in place, `self += alpha · other` (aten::add_)."""

from kgb_gym.operators.aten.families import additive
from kgb_gym.operators.aten.families.binary import sum_of_magnitudes
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

OPERATOR = Operator(
    source="aten",
    name="add_",
    interfaces=additive.in_place("add_"),
    compare=Close(scale=sum_of_magnitudes, own=2.0),
    description="Adds `alpha` times the second operand to `self`, in place, and returns `self` itself.",
    notes=(*additive.NOTES, *additive.IN_PLACE_NOTES),
    left_out=(("add_.t", "TorchScript builtin: not in the dispatcher"),),
    usual=REAL,
    family="additive",
)
