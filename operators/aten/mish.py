"""Mish activation, x · tanh(softplus(x)), element by element (aten::mish)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import conditioned
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

_WIDE = tuple({"shape": (301,), "dtype": d, "kind": "wide"} for d in ("float16", "float32", "bfloat16"))

_RELATIVE = conditioned(torch.nn.functional.mish, lambda x: 1 + torch.nn.functional.mish(x).abs())


def _scale(arguments: Arguments) -> torch.Tensor:
    """Beside the rounding of the argument, that of 1 + exp(x), whose logarithm is taken."""
    x: torch.Tensor = arguments["self"].double()
    return _RELATIVE(arguments) + x.abs().nan_to_num(posinf=0.0, neginf=0.0)


OPERATOR = Operator(
    source="aten",
    name="mish",
    interfaces=unary.interfaces(
        "mish", further=_WIDE, integers=False, keeps=True, published=((2, 3), (128, 256), (512, 1024))
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="x · tanh(log(1 + exp(x))) for every element of a floating-point tensor.",
    notes=(
        "Far on the right it is x, far on the left it goes to zero; minus infinity gives NaN, as 0 · infinity does.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "Integers and bools are an error (NotImplementedError); `out` must have the input's type (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
