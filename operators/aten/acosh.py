"""Inverse hyperbolic cosine, element by element (aten::acosh)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins, conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_KINDS: tuple[Params, ...] = (
    {"shape": (301,), "dtype": "float32", "kind": "close"},
    # x² - 1 overflows, or loses a negative x: ordinary kernels have it.
    *({"shape": (301,), "dtype": "float32", "kind": k, "origin": "beyond"} for k in ("large", "huge")),
)

OPERATOR = Operator(
    source="aten",
    name="acosh",
    interfaces=unary.interfaces(
        "acosh", kind="above_one", integer_kind="counts", further=_KINDS, published=unary.PUBLISHED
    ),
    compare=Close(scale=conditioned(torch.acosh, lambda x: (x * x - 1).rsqrt()), slack=4.0),
    description="The inverse hyperbolic cosine of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Below 1 the answer is NaN; at 1 it is 0; at infinity infinity. 1e30 must not overflow on the way.",
        "Just above 1 the answer keeps its digits: there the logarithm of x + sqrt(x * x - 1) loses them.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    left_out=builtins("acosh", "int float complex Scalar"),
    usual=FLOATING,
    family="unary",
)
