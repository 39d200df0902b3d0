"""Comparisons of two operands, which answer in bools."""

from __future__ import annotations

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import tensor_scalar, tensor_tensor, truth
from kgb_gym.operators.declaration import Interface

NOTES = (
    "Operands are compared in their common type (`torch.result_type`), a number too.",
    "NaN is neither equal to anything nor greater or less; zeros of either sign are equal.",
    "`out` may have any type: 1 stands for true.",
)
_NEAR = {"kind": "near_rows", "other_kind": "near_columns"}
_FURTHER = (
    {"shape": (33,), "dtype": "bool"},
    {"shape": (77,), "dtype": "int8", "other_dtype": "int64", "kind": "digits"},
    {"shape": (41,), "dtype": "uint8", "other_dtype": "int16", "kind": "digits"},
    {"shape": (10, 11), "dtype": "float32", **_NEAR},
)
_SCALARS = (
    {"shape": (39,), "dtype": "int32", "kind": "digits", "scalar": 2},
    {"shape": (39,), "dtype": "int64", "kind": "digits", "scalar": 2.5},
    {"shape": (21,), "dtype": "bool", "scalar": 1},
    {"shape": (39,), "dtype": "float32", "kind": "near_rows", "scalar": 0},
)


def interfaces(name: str) -> tuple[Interface, ...]:
    """Interfaces `Tensor`, `Scalar`, `Tensor_out` and `Scalar_out`."""
    kinds = {"kind": "digits"}
    base = {"kind": "near_rows", "scalar": 1}
    other = ({"shape": (9, 15), "dtype": "float32", "out_dtype": "int32", **_NEAR},)
    return (
        pairs.tensors(f"{name}.Tensor", kinds=kinds, further=_FURTHER, finest=_NEAR),
        pairs.number(f"{name}.Scalar", kind="digits", scalars=(0, 1, -2), further=_SCALARS, few=True),
        pairs.out(f"{name}.Tensor_out", tensor_tensor, base=kinds, promotes=truth, further=other),
        pairs.out(f"{name}.Scalar_out", tensor_scalar, base=base, promotes=truth, broadcasts=False, few=True),
    )
