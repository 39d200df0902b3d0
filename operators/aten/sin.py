"""Sine, element by element (aten::sin)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.aten.families.common import builtins
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

_LARGE = tuple({"shape": (301,), "dtype": d, "kind": "large"} for d in ("float16", "float32", "bfloat16"))

OPERATOR = Operator(
    source="aten",
    name="sin",
    interfaces=unary.interfaces(
        "sin", integer_kind="digits", further=(*_LARGE, {"shape": (257,), "dtype": "float32", "kind": "huge"})
    ),
    compare=Close(scale=lambda arguments: arguments["self"].double().abs().clamp(max=1.0).nan_to_num(0.0)),
    description="The sine of every element, in radians. Integers and bools are computed and returned in float32.",
    notes=(
        "Arguments may be large (1e4, 1e30): reduce them exactly. An infinity gives NaN.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
        "Complex tensors are not asked for.",
    ),
    left_out=builtins("sin", "int float complex Scalar"),
    usual=FLOATING,
    family="unary",
)
