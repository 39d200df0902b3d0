"""Multiplication (aten::mul)."""

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import tensor_scalar, tensor_tensor
from kgb_gym.operators.aten.families.common import FLUSHED, builtins, magnitude
from kgb_gym.operators.compare import Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import REAL

_FURTHER = (
    {"shape": (33,), "dtype": "bool"},
    {"shape": (77,), "dtype": "int8", "other_dtype": "int64"},
    {"shape": (29,), "dtype": "int64", "number": "other", "scalar": 2.5, "origin": "beyond"},
    {"shape": (61, 53), "dtype": "complex64", "other_layout": "transposed"},
)
_SCALARS = ({"shape": (39,), "dtype": "int32", "scalar": 7}, {"shape": (21,), "dtype": "bool", "scalar": 1.5})

OPERATOR = Operator(
    source="aten",
    name="mul",
    interfaces=(
        pairs.tensors("mul.Tensor", further=_FURTHER),
        pairs.number("mul.Scalar", further=_SCALARS),
        pairs.out("mul.out", tensor_tensor),
        pairs.out(
            "mul.Scalar_out",
            tensor_scalar,
            base={"scalar": 0.75},
            casts=False,
            broadcasts=False,
            further=(
                {"shape": (9, 15), "dtype": "float32", "out_dtype": "float16", "scalar": 0.75, "origin": "beyond"},
            ),
        ),
    ),
    compare=Close(
        scale=lambda arguments: magnitude(arguments["self"]) * magnitude(arguments["other"]) + FLUSHED,
        slack=4.0,
        own=1.0,
    ),
    description="Multiplies two operands element by element, with broadcasting.",
    notes=(
        pairs.PROMOTION_NOTE,
        "Integers wrap; of bools it is `and`. Complex tensors are multiplied as such.",
        "The second operand may arrive as a Python int or float.",
        pairs.HALF_NOTE,
        pairs.OUT_NOTE,
        "For `mul.Scalar_out` `out` must have the answer's type (RuntimeError).",
    ),
    left_out=builtins(
        "mul",
        "left_t right_ int complex float int_complex complex_int float_complex complex_float int_float float_int default",
    ),
    usual=REAL,
    family="multiplicative",
)
