"""Entropy, -x · log(x), element by element (aten::special_entr)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

OPERATOR = Operator(
    source="aten",
    name="special_entr",
    interfaces=unary.interfaces("special_entr", kind="positive", integer_kind="counts", published=unary.PUBLISHED),
    compare=Close(scale=conditioned(torch.special.entr, lambda x: 1 + x.log()), slack=4.0),
    description="-x · log(x) for every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Zero gives 0, a negative number (minus infinity too) minus infinity, infinity minus infinity; NaN stays.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
