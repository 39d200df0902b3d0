"""Heaviside step function (aten::heaviside)."""

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import tensor_tensor
from kgb_gym.operators.aten.families.unary import PUBLISHED
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import NUMBERS
from kgb_gym.operators.policy import Policy

_KINDS = {"kind": "digits", "other_kind": "normal"}
_FURTHER = (
    {"shape": (33,), "dtype": "bool"},
    {"shape": (45,), "dtype": "float32", **_KINDS, "kind": "near_rows"},
    {"shape": (45,), "dtype": "float64", **_KINDS, "kind": "near_rows"},
    {"shape": (70,), "dtype": "uint8", **_KINDS},
    {"shape": (8, 33), "dtype": "float16", "other_dtype": "float32", **_KINDS, "origin": "beyond"},
    {"shape": (57,), "dtype": "float16", "other": (), **_KINDS},
)

OPERATOR = Operator(
    source="aten",
    name="heaviside",
    interfaces=(
        pairs.tensors("heaviside", kinds=_KINDS, mixed=False, further=_FURTHER, published=PUBLISHED),
        pairs.out(
            "heaviside.out",
            tensor_tensor,
            base=_KINDS,
            casts=False,
            further=(
                {"shape": (9, 15), "dtype": "float32", "out_dtype": "float16", **_KINDS, "origin": "beyond"},
                {"shape": (45,), "dtype": "int16", **_KINDS},
                {"shape": (47,), "dtype": "float32", **_KINDS, "kind": "near_rows"},
            ),
        ),
    ),
    compare=Exact(),
    description="0 where `self` is negative, 1 where it is positive, and `values` where it is zero, with broadcasting.",
    notes=(
        "Zeros of either sign take the value, NaN too if that is the value. A NaN in `self` gives 0.",
        "`self`, `values` and `out` must have one type (RuntimeError). Integers and bools are fine.",
    ),
    policy=Policy(lossy_copy=False),
    usual=NUMBERS,
    family="comparison",
)
