"""Inverse sine, element by element (aten::asin)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins, conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

OPERATOR = Operator(
    source="aten",
    name="asin",
    interfaces=unary.interfaces("asin", kind="signed_unit", published=unary.PUBLISHED),
    compare=Close(scale=conditioned(torch.asin, lambda x: (1 - x * x).rsqrt()), slack=4.0),
    description="The inverse sine of every element, in radians. Integers and bools are computed and returned in float32.",
    notes=(
        "Outside [-1, 1] the answer is NaN.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    left_out=builtins("asin", "int float complex Scalar"),
    usual=FLOATING,
    family="unary",
)
