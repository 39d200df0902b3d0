"""Division in place (aten::div_)."""

from kgb_gym.operators.aten.families import pairs, quotient
from kgb_gym.operators.aten.families.quotient import KINDS
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_TENSOR: tuple[Params, ...] = (
    {"shape": (7, 19), "dtype": "float32", "other_dtype": "int32", **KINDS},
    {"shape": (13, 13), "dtype": "float32", "share": "self", "layout": "transposed"},
    {"shape": (9,), "dtype": "int32", **KINDS, "origin": "beyond"},
)
_MODE: tuple[Params, ...] = (
    {"shape": (41,), "dtype": "int32", "mode": "trunc", **KINDS},
    {"shape": (77,), "dtype": "int8", "other_dtype": "int64", "mode": "floor", **KINDS},
    {"shape": (10, 11), "dtype": "float32", "kind": "rows", "other_kind": "columns", "mode": "trunc"},
)
_SCALAR: tuple[Params, ...] = ({"shape": (15, 5), "dtype": "bfloat16", "layout": "dilated", "scalar": 3},)
_SCALAR_MODE: tuple[Params, ...] = (
    {"shape": (39,), "dtype": "float32", "kind": "digits", "scalar": 0.1, "mode": "floor"},
    {"shape": (39,), "dtype": "int32", "scalar": -7, "mode": "floor"},
)

OPERATOR = Operator(
    source="aten",
    name="div_",
    interfaces=(
        pairs.written("div_.Tensor", further=_TENSOR),
        pairs.written("div_.Scalar", with_number=True, further=_SCALAR),
        pairs.written(
            "div_.Tensor_mode",
            kinds=KINDS,
            axes={"mode": ("none", "trunc", "floor")},
            fixed={"mode": "floor"},
            further=_MODE,
            brief=True,
        ),
        pairs.written(
            "div_.Scalar_mode",
            with_number=True,
            kinds={"kind": "eighths"},
            scalars=(0.25, -1.5, 3),
            axes={"mode": ("trunc", "floor")},
            fixed={"mode": "trunc"},
            further=_SCALAR_MODE,
        ),
    ),
    compare=quotient.COMPARE,
    description="Divides `self` by the second operand in place, with broadcasting of that, and returns `self` itself. "
    "`rounding_mode` None leaves the quotient as it is, 'trunc' rounds it towards zero, 'floor' down.",
    notes=(
        pairs.PROMOTION_NOTE,
        "A true quotient needs a floating-point `self` (RuntimeError otherwise); integers may be divided with rounding.",
        *quotient.FLOOR_NOTES,
        "The second operand may arrive as a Python int or float.",
        pairs.HALF_NOTE,
        *pairs.IN_PLACE_NOTES,
    ),
    usual=FLOATING,
    family="quotient",
)
