"""Greater than, element by element (aten::gt)."""

from kgb_gym.operators.aten.families import comparison
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL
from kgb_gym.operators.policy import Policy

OPERATOR = Operator(
    source="aten",
    name="gt",
    interfaces=comparison.interfaces("gt"),
    compare=Exact(),
    description="Whether each element of the first operand is greater than that of the second, as a bool, with broadcasting.",
    notes=comparison.NOTES,
    policy=Policy(lossy_copy=False),
    left_out=builtins("gt", "int float int_float float_int default str"),
    usual=REAL,
    family="comparison",
)
