"""Hyperbolic cosine, element by element (aten::cosh)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins, conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_WIDE: tuple[Params, ...] = (
    *({"shape": (301,), "dtype": d, "kind": "wide"} for d in ("float16", "float32", "bfloat16")),
    {"shape": (5, 43), "dtype": "int32"},
)

OPERATOR = Operator(
    source="aten",
    name="cosh",
    interfaces=unary.interfaces("cosh", further=_WIDE, integer_kind="digits", published=unary.PUBLISHED),
    compare=Close(scale=conditioned(torch.cosh, torch.sinh), slack=4.0),
    description="The hyperbolic cosine of every element. Integers and bools are computed and returned in float32.",
    notes=(
        "Large arguments overflow to infinity only where the answer does: in float32 beyond 89.4, in float16 beyond 11.8.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    left_out=builtins("cosh", "int float complex Scalar"),
    usual=FLOATING,
    family="unary",
)
