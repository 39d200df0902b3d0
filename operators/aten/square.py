"""Square, element by element (aten::square)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS, Params


def square_of(dtype: torch.dtype) -> torch.dtype:
    """The answer's type: a square of bools counts."""
    return torch.int64 if dtype is torch.bool else dtype


_FURTHER: tuple[Params, ...] = (
    {"shape": (61, 53), "dtype": "complex64", "layout": "transposed"},
    {"shape": (31,), "dtype": "uint8"},
    {"shape": (29,), "dtype": "int64"},
    {"shape": (65,), "dtype": "float16", "kind": "large"},
)

OPERATOR = Operator(
    source="aten",
    name="square",
    interfaces=unary.interfaces("square", promotes=square_of, further=_FURTHER, published=unary.PUBLISHED_LARGE),
    compare=Close(slack=4.0),
    description="Every element times itself. Floating-point, complex and integer types are kept; bools give int64.",
    notes=(
        "Integers wrap.",
        "`out` may have another type to which the answer's can be cast: an integer `out` for a floating-point answer is an error (RuntimeError).",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
    ),
    usual=NUMBERS,
    family="unary",
)
