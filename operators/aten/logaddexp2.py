"""Logarithm of a sum of powers of two (aten::logaddexp2)."""

import torch

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import tensor_tensor
from kgb_gym.operators.aten.families.common import magnitude
from kgb_gym.operators.aten.families.unary import PUBLISHED
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

_FURTHER = (
    {"shape": (95,), "dtype": "float32", "kind": "wide"},
    {"shape": (23, 11), "dtype": "float32", "kind": "large"},
    {"shape": (211,), "dtype": "float32", "kind": "special", "other_kind": "normal"},
    {"shape": (5,), "dtype": "int32", "origin": "beyond"},
)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The larger magnitude, and 1 for the logarithm that is added."""
    sizes = torch.maximum(magnitude(arguments["self"]), magnitude(arguments["other"]))
    return sizes.nan_to_num(0.0, posinf=0.0) + 1


OPERATOR = Operator(
    source="aten",
    name="logaddexp2",
    interfaces=(
        pairs.tensors("logaddexp2", integers=False, further=_FURTHER, published=PUBLISHED).beyond(
            lambda p: p.get("kind") == "rows"  # pairs of infinities
        ),
        pairs.out("logaddexp2.out", tensor_tensor),
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The logarithm to base 2 of 2 to the first operand plus 2 to the second, with broadcasting.",
    notes=(
        "Of any size: no power may overflow on the way. Two equal infinities give themselves, opposite ones infinity.",
        "Operands promote as in PyTorch; integers alone are an error (NotImplementedError).",
        pairs.HALF_NOTE,
        pairs.OUT_NOTE,
    ),
    usual=FLOATING,
    family="logarithmic",
)
