"""Decimal logarithm, element by element (aten::log10)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins, conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

OPERATOR = Operator(
    source="aten",
    name="log10",
    interfaces=unary.interfaces("log10", kind="positive", integer_kind="counts", published=unary.PUBLISHED_LARGE),
    compare=Close(scale=conditioned(torch.log10, lambda x: 0.4343 / x), slack=4.0),
    description="The logarithm to base 10 of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Zero gives minus infinity, a negative number NaN.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    left_out=builtins("log10", "int float complex Scalar"),
    usual=FLOATING,
    family="unary",
)
