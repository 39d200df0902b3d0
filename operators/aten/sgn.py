"""Sign, element by element (aten::sgn)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS, Params

_FURTHER: tuple[Params, ...] = (
    {"shape": (61, 53), "dtype": "complex64", "layout": "transposed"},
    {"shape": (31,), "dtype": "complex64", "kind": "digits"},
    {"shape": (31,), "dtype": "uint8", "kind": "digits"},
    {"shape": (45,), "dtype": "bfloat16", "kind": "digits"},
    {"shape": (45,), "dtype": "float32", "kind": "near_rows"},
    {"shape": (45,), "dtype": "float64", "kind": "near_rows"},
)
_WRITTEN: tuple[Params, ...] = ({"shape": (47,), "dtype": "float32", "kind": "near_rows"},)


def _scale(arguments: Arguments) -> torch.Tensor | float:
    """Real signs are exact."""
    return 1.0 if arguments["self"].is_complex() else 0.0


OPERATOR = Operator(
    source="aten",
    name="sgn",
    interfaces=unary.interfaces("sgn", keeps=True, further=_FURTHER, written=_WRITTEN, published=unary.PUBLISHED),
    compare=Close(scale=_scale, slack=4.0),
    description="The sign of every element: -1, 0 or 1 in the input's type; for a complex z the number z / |z|, and 0 for 0.",
    notes=(
        "NaN gives 0 (for a real type). Infinities have signs; zeros of either sign give 0.",
        "Bools are their own signs.",
        "`out` must have the input's type (RuntimeError).",
    ),
    usual=NUMBERS,
    family="unary",
)
