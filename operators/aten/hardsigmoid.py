"""Piecewise linear sigmoid, element by element (aten::hardsigmoid)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_EDGES: tuple[Params, ...] = (
    *({"shape": (101,), "dtype": d, "kind": "digits"} for d in ("float16", "float32", "bfloat16")),
    {"shape": (9, 33), "dtype": "float32", "kind": "wide"},
)

OPERATOR = Operator(
    source="aten",
    name="hardsigmoid",
    interfaces=unary.interfaces(
        "hardsigmoid", further=_EDGES, integers=False, keeps=True, published=unary.PUBLISHED_LARGE
    ),
    compare=Close(scale=lambda arguments: 1.0, slack=4.0),
    description="x / 6 + 1/2, clamped to [0, 1], for every element of a floating-point tensor.",
    notes=(
        "NaN stays NaN; infinities are clamped.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "Integers and bools are an error (NotImplementedError); `out` must have the input's type (RuntimeError).",
    ),
    usual=FLOATING,
    family="unary",
)
