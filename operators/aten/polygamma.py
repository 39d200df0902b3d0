"""Polygamma functions, element by element (aten::polygamma)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import conditioned
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_FURTHER: tuple[Params, ...] = (
    *({"shape": (63,), "dtype": "float32", "kind": "negative", "n": n} for n in (0, 1, 2)),
    {"shape": (47,), "dtype": "float32", "kind": "above_one", "n": 4},
    {"shape": (5, 9), "dtype": "float64", "kind": "positive", "n": 0},
    {"shape": (5, 9), "dtype": "float64", "kind": "counts", "n": 4},
    {"shape": (5,), "dtype": "float32", "n": -1, "origin": "beyond"},
)


def _scale(arguments: Arguments) -> torch.Tensor:
    """The error model of the n-th function: its derivative is the next one. Digamma has a zero near 1.46, and large
    tensors hold arguments so near to it that the answer is of the size of their rounding."""
    n = arguments["n"]
    return conditioned(lambda x: torch.polygamma(n, x), lambda x: torch.polygamma(n + 1, x), 1e8)(arguments)


OPERATOR = Operator(
    source="aten",
    name="polygamma",
    interfaces=unary.interfaces(
        "polygamma",
        kind="positive",
        integer_kind="counts",
        special="undefined",
        fixed={"n": 2},
        axes={"n": (0, 1, 2)},
        further=_FURTHER,
        published=unary.PUBLISHED,
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The n-th derivative of the digamma function (n = 0: digamma itself) of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Arguments are positive, or negative and no whole numbers; for n = 2 also 0, which gives minus infinity.",
        "A negative n is an error (RuntimeError).",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
