"""Complementary error function, element by element (aten::erfc)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins, conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_TAIL: tuple[Params, ...] = (
    *({"shape": (301,), "dtype": d, "kind": "tail"} for d in ("float16", "float32", "bfloat16")),
    {"shape": (73,), "dtype": "float64", "kind": "tail"},
)

OPERATOR = Operator(
    source="aten",
    name="erfc",
    interfaces=unary.interfaces("erfc", further=_TAIL, integer_kind="digits", published=unary.PUBLISHED_LARGE),
    compare=Close(scale=conditioned(torch.erfc, lambda x: torch.exp(-x * x) * 1.13), slack=4.0),
    description="One minus the error function of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Far out on the right the answer is tiny, and relatively as accurate as elsewhere; far on the left it is 2.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    left_out=builtins("erfc", "int float Scalar"),
    usual=FLOATING,
    family="unary",
)
