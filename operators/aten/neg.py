"""Negation, element by element (aten::neg)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS, Params
from kgb_gym.operators.policy import Policy

_FURTHER: tuple[Params, ...] = (
    {"shape": (7, 19), "dtype": "complex64", "layout": "transposed"},
    {"shape": (31,), "dtype": "uint8"},
    {"shape": (300,), "dtype": "int8"},
)

OPERATOR = Operator(
    source="aten",
    name="neg",
    interfaces=unary.interfaces("neg", keeps=True, further=_FURTHER),
    compare=Exact(),
    description="Every element with its sign changed, in the input's type.",
    notes=(
        "Integers wrap: of uint8 3 comes 253, and the smallest signed number stays.",
        "Bools are an error (RuntimeError); `out` must have the input's type (RuntimeError).",
    ),
    policy=Policy(
        deny_ops=frozenset(
            {
                "neg",
                "_neg_view",
                "resolve_neg",
                "conj",
                "_conj",
                "_conj_physical",
                "resolve_conj",
                "adjoint",
            }
        ),
    ),
    left_out=builtins("neg", "int float complex Scalar"),
    usual=NUMBERS,
    family="unary",
)
