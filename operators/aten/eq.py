"""Equality, element by element (aten::eq)."""

from kgb_gym.operators.aten.families import comparison
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL
from kgb_gym.operators.policy import Policy

OPERATOR = Operator(
    source="aten",
    name="eq",
    interfaces=comparison.interfaces("eq"),
    compare=Exact(),
    description="Whether each element of the first operand is equal to that of the second, as a bool, with broadcasting.",
    notes=comparison.NOTES,
    policy=Policy(lossy_copy=False),
    left_out=builtins(
        "eq",
        "int_list device bool enum int complex float int_float float_int float_complex complex_float default str float_list Tensor_list bool_list str_list",
    ),
    usual=REAL,
    family="comparison",
)
