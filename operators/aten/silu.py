"""SiLU activation, x · sigmoid(x), element by element (aten::silu)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import conditioned
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

_WIDE = tuple({"shape": (301,), "dtype": d, "kind": "wide"} for d in ("float16", "float32", "bfloat16"))

OPERATOR = Operator(
    source="aten",
    name="silu",
    interfaces=unary.interfaces("silu", further=_WIDE, integers=False, keeps=True),
    compare=Close(
        scale=conditioned(torch.nn.functional.silu, lambda x: 1 + torch.nn.functional.silu(x).abs()), slack=4.0
    ),
    description="x / (1 + exp(-x)) for every element of a floating-point tensor.",
    notes=(
        "Far on the left it goes to zero without overflow on the way; minus infinity gives NaN, as 0 · infinity does.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "Integers and bools are an error (NotImplementedError); `out` must have the input's type (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    usual=FLOATING,
    family="unary",
)
