"""Rounding down, element by element (aten::floor)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params
from kgb_gym.operators.policy import Policy

_EDGES: tuple[Params, ...] = (
    {"shape": (301,), "dtype": "float32", "kind": "large"},
    {"shape": (301,), "dtype": "float16", "kind": "large"},
    {"shape": (67,), "dtype": "bfloat16", "kind": "digits"},
    {"shape": (45,), "dtype": "float64", "kind": "near_rows"},
)
_WRITTEN: tuple[Params, ...] = (
    {"shape": (203,), "dtype": "float32", "kind": "large"},
    {"shape": (45,), "dtype": "float64", "kind": "near_rows"},
)

OPERATOR = Operator(
    source="aten",
    name="floor",
    interfaces=unary.interfaces("floor", further=_EDGES, written=_WRITTEN, keeps=True, published=unary.PUBLISHED),
    compare=Exact(),
    description="The largest whole number not above each element. The answer has the input's type; integers are returned as they are.",
    notes=(
        "Infinities and NaN stay; bools are an error (NotImplementedError).",
        "`out` must have the input's type (RuntimeError).",
    ),
    policy=Policy(lossy_copy=False),
    left_out=builtins("floor", "int float Scalar"),
    usual=FLOATING,
    family="unary",
)
