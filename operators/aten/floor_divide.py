"""Floored division (aten::floor_divide)."""

from kgb_gym.operators.aten.families import pairs, quotient
from kgb_gym.operators.aten.families.binary import tensor_scalar, tensor_tensor
from kgb_gym.operators.aten.families.quotient import KINDS
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, WHOLE, Params
from kgb_gym.operators.policy import Policy

_FURTHER: tuple[Params, ...] = (
    {"shape": (77,), "dtype": "int8", **KINDS},
    {"shape": (41,), "dtype": "uint8", **KINDS},
    {"shape": (29,), "dtype": "int64", "number": "other", "scalar": 2.5, "origin": "beyond"},
    {"shape": (5,), "dtype": "bool", **KINDS, "origin": "beyond"},
)
_SCALAR: tuple[Params, ...] = (
    {"shape": (39,), "dtype": "float32", "kind": "digits", "scalar": 0.1},
    {"shape": (39,), "dtype": "int32", "scalar": -7},
)
_NUMBER: Params = {"kind": "eighths", "scalar": 0.75}

OPERATOR = Operator(
    source="aten",
    name="floor_divide",
    interfaces=(
        pairs.tensors(
            "floor_divide",
            kinds=KINDS,
            dtypes=("float32", "int16", "int32", "int64", "float16", "bfloat16"),
            further=_FURTHER,
            few=True,
        ).beyond(lambda p: p.get("kind") == "rows"),  # of infinities
        pairs.number("floor_divide.Scalar", kind="eighths", scalars=(0.25, -1.5, 3), further=_SCALAR),
        pairs.out("floor_divide.out", tensor_tensor, base=KINDS),
        pairs.out("floor_divide.Scalar_out", tensor_scalar, base=_NUMBER, casts=False, broadcasts=False),
    ),
    compare=quotient.COMPARE,
    description="Divides the first operand by the second and rounds down, element by element, with broadcasting.",
    notes=(
        pairs.PROMOTION_NOTE,
        "Integers keep their type; bools are an error (NotImplementedError).",
        *quotient.FLOOR_NOTES,
        "The second operand may arrive as a Python int or float.",
        pairs.OUT_NOTE,
        "For `floor_divide.Scalar_out` `out` must have the answer's type (RuntimeError).",
    ),
    policy=Policy(lossy_copy=False),
    usual=FLOATING | WHOLE,
    family="quotient",
)
