"""Division, true or rounded to whole numbers (aten::div)."""

from kgb_gym.operators.aten.families import pairs, quotient
from kgb_gym.operators.aten.families.binary import tensor_scalar, tensor_tensor
from kgb_gym.operators.aten.families.common import builtins, promoted
from kgb_gym.operators.aten.families.quotient import KINDS
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_TENSOR: tuple[Params, ...] = (
    {"shape": (33,), "dtype": "int8", **KINDS},
    {"shape": (5, 11), "dtype": "float32", "number": "other", "scalar": 3, "origin": "beyond"},
)
_MODE: tuple[Params, ...] = (
    {"shape": (10, 11), "dtype": "float32", "kind": "rows", "other_kind": "columns", "mode": "trunc"},
    {"shape": (77,), "dtype": "int8", "mode": "trunc", **KINDS},
    {"shape": (41,), "dtype": "uint8", "mode": "floor", **KINDS},
    {"shape": (5,), "dtype": "float32", "mode": "round", "origin": "beyond"},
)
_SCALAR: tuple[Params, ...] = ({"shape": (39,), "dtype": "int32", "scalar": 7},)
_SCALAR_MODE: tuple[Params, ...] = (
    {"shape": (39,), "dtype": "float32", "kind": "digits", "scalar": 0.1, "mode": "floor"},
    {"shape": (39,), "dtype": "int32", "scalar": -7, "mode": "floor"},
)
_NUMBER: Params = {"scalar": 0.75}

OPERATOR = Operator(
    source="aten",
    name="div",
    interfaces=(
        pairs.tensors("div.Tensor", further=_TENSOR, few=True, brief=True),
        pairs.number("div.Scalar", further=_SCALAR, few=True),
        pairs.tensors(
            "div.Tensor_mode",
            kinds=KINDS,
            axes={"mode": ("none", "trunc", "floor")},
            fixed={"mode": "floor"},
            further=_MODE,
            brief=True,
            few=True,
        ),
        pairs.number(
            "div.Scalar_mode",
            kind="eighths",
            scalars=(0.25, -1.5, 3),
            axes={"mode": ("trunc", "floor")},
            fixed={"mode": "trunc"},
            further=_SCALAR_MODE,
            few=True,
        ),
        pairs.out("div.out", tensor_tensor, promotes=promoted, few=True),
        pairs.out("div.out_mode", tensor_tensor, base={**KINDS, "mode": "floor"}, casts=False, few=True),
        pairs.out("div.Scalar_out", tensor_scalar, base=_NUMBER, casts=False, broadcasts=False, few=True),
        pairs.out(
            "div.Scalar_mode_out",
            tensor_scalar,
            base={"kind": "eighths", "mode": "trunc", **_NUMBER},
            casts=False,
            broadcasts=False,
            few=True,
        ),
    ),
    compare=quotient.COMPARE,
    description="Divides the first operand by the second, element by element, with broadcasting. `rounding_mode` None "
    "leaves the quotient as it is, 'trunc' rounds it towards zero, 'floor' down.",
    notes=(
        pairs.PROMOTION_NOTE,
        "True quotients of integers and bools are computed and returned in float32; rounded ones keep the integer type.",
        "Rounded quotients of bools are an error (NotImplementedError), other modes too (RuntimeError).",
        *quotient.FLOOR_NOTES,
        "The second operand may arrive as a Python int or float.",
        pairs.HALF_NOTE,
        pairs.OUT_NOTE,
        "For `Scalar_out` and `Scalar_mode_out` `out` must have the answer's type (RuntimeError).",
    ),
    left_out=builtins("div", "int complex float default"),
    usual=FLOATING,
    family="quotient",
)
