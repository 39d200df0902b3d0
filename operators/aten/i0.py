"""Modified Bessel function of the first kind of order 0, element by element (aten::i0)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_WIDE: tuple[Params, ...] = (
    *({"shape": (301,), "dtype": d, "kind": "wide"} for d in ("float16", "float32", "bfloat16")),
    {"shape": (73,), "dtype": "float64", "kind": "wide"},
)

OPERATOR = Operator(
    source="aten",
    name="i0",
    interfaces=unary.interfaces(
        "i0", special="undefined", further=_WIDE, integer_kind="digits", published=unary.PUBLISHED
    ),
    compare=Close(scale=conditioned(torch.special.i0, torch.special.i1), slack=4.0),
    description="The modified Bessel function I0 of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "It grows like exp(|x|): overflow only where the answer does. Infinities are not asked for; NaN stays NaN.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
