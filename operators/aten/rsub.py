"""Reversed subtraction, `other - alpha · self` (aten::rsub)."""

import torch

from kgb_gym.operators.aten.families import additive
from kgb_gym.operators.aten.families.common import magnitude
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS, Params


def _scale(arguments: Arguments) -> torch.Tensor:
    """|other| + |alpha · self|."""
    alpha = abs(float(arguments.get("alpha", 1)))
    return magnitude(arguments["other"]) + alpha * magnitude(arguments["self"])


def _refused(point: Params) -> bool:
    """A number goes to `rsub.Scalar` alone, and an `out` of another type is an error here."""
    return "number" in point or "out_dtype" in point


OPERATOR = Operator(
    source="aten",
    name="rsub",
    interfaces=additive.functional("rsub", out="Tensor_out", refused=_refused),
    compare=Close(scale=_scale, own=2.0),
    description="Subtracts `alpha` times the first operand from the second, element by element, with broadcasting.",
    notes=(*additive.SUBTRACTION_NOTES, "`out` must have the answer's type (RuntimeError)."),
    usual=NUMBERS,
    family="additive",
)
