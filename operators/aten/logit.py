"""Log-odds, element by element (aten::logit)."""

import torch

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_CLAMPED: tuple[Params, ...] = (
    *(
        {"shape": s, "dtype": d, "kind": "below_one", "eps": 1e-6}
        for s in ((128, 256), (7, 11))
        for d in ("float16", "float32", "bfloat16")
    ),
    {"shape": (211,), "dtype": "float32", "kind": "special", "eps": 1e-3},
    {"shape": (8, 9), "dtype": "float64", "kind": "below_one", "eps": 0.1},
)


def scale(arguments: Arguments) -> torch.Tensor:
    """|f| + 1: the quotient is rounded relatively, which moves its logarithm absolutely. A bound of the clamp is rounded
    itself, which counts 1 / (1 - x) there."""
    eps = arguments.get("eps")
    x = arguments["self"].double()
    if eps is None:
        return torch.logit(x).abs() + 1
    clamped = x.clamp(eps, 1 - eps)
    return torch.logit(clamped).abs() + 1 + torch.where(clamped == x, 0.0, 1 / (1 - clamped))


OPERATOR = Operator(
    source="aten",
    name="logit",
    interfaces=unary.interfaces(
        "logit", kind="unit", axes={"eps": (None, 1e-3)}, further=_CLAMPED, published=unary.PUBLISHED
    ),
    compare=Close(scale=scale, slack=4.0),
    description="The logarithm of x / (1 - x) for every element. Integers and bools are computed and returned in float32.",
    notes=(
        "With `eps`, x is first clamped to [eps, 1 - eps]. Without it, 0 gives minus infinity, 1 infinity and what lies outside [0, 1] NaN.",
        "NaN stays NaN, with or without `eps`.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
