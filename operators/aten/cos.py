"""Cosine, element by element (aten::cos)."""

from kgb_gym.operators.aten.families import unary
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING

_LARGE = tuple({"shape": (301,), "dtype": d, "kind": "large"} for d in ("float16", "float32", "bfloat16"))

OPERATOR = Operator(
    source="aten",
    name="cos",
    interfaces=unary.interfaces(
        "cos", integer_kind="digits", further=(*_LARGE, {"shape": (257,), "dtype": "float32", "kind": "huge"})
    ),
    compare=Close(scale=lambda arguments: 1.0),
    description="The cosine of every element, in radians. Integers and bools are computed and returned in float32.",
    notes=(
        "Arguments may be large (1e4, 1e30): reduce them exactly. An infinity gives NaN.",
        "The answer of a 16-bit input is computed in fp32 and rounded once.",
        "An integer `out` is an error (RuntimeError).",
    ),
    left_out=(
        ("cos.int", "TorchScript builtin: not in the dispatcher"),
        ("cos.float", "TorchScript builtin: not in the dispatcher"),
        ("cos.complex", "TorchScript builtin: not in the dispatcher"),
        ("cos.Scalar", "TorchScript builtin: not in the dispatcher"),
    ),
    usual=FLOATING,
    family="unary",
)
