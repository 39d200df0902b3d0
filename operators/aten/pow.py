"""Powers (aten::pow)."""

import torch

from kgb_gym.operators.aten.families import pairs
from kgb_gym.operators.aten.families.binary import scalar_tensor, tensor_scalar, tensor_tensor
from kgb_gym.operators.aten.families.common import FLUSHED, builtins, magnitude
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Operator
from kgb_gym.operators.grids import FLOATING, Params

_KINDS: Params = {"kind": "positive", "other_kind": "normal"}
_WHOLE: Params = {"kind": "counts", "other_kind": "digits"}
_TENSOR: tuple[Params, ...] = (
    {"shape": (83,), "dtype": "float32", "kind": "normal", "other_kind": "digits"},
    {"shape": (5, 9), "dtype": "int32", "other_dtype": "int64", "kind": "counts"},
    {"shape": (7, 9), "dtype": "int64", "kind": "digits", "other_kind": "counts"},
    {"shape": (29,), "dtype": "float16", "other_dtype": "int32", **_WHOLE},
)
_TENSOR_SCALAR: tuple[Params, ...] = (
    {"shape": (83,), "dtype": "float32", "scalar": 3},
    {"shape": (21, 5), "dtype": "float32", "scalar": 2, "layout": "transposed"},
    {"shape": (45,), "dtype": "float32", "kind": "special", "scalar": -1.5},
    {"shape": (39,), "dtype": "int32", "kind": "digits", "scalar": 5},
    {"shape": (39,), "dtype": "int64", "kind": "counts", "scalar": 0.5},
    {"shape": (5,), "dtype": "int32", "scalar": -1, "origin": "beyond"},
)
_SCALAR: tuple[Params, ...] = (
    {"shape": (29,), "dtype": "int32", "kind": "digits", "scalar": 2.5},
    {"shape": (29,), "dtype": "int64", "kind": "counts", "scalar": -3},
)


def _scale(arguments: Arguments) -> torch.Tensor:
    """|power| (1 + |exponent · log base|): what a rounding of the logarithm may do."""
    base, exponent = magnitude(arguments["self"]), torch.as_tensor(arguments["exponent"]).double()
    power = base.pow(exponent)
    spread = torch.nan_to_num((exponent * base.log()).abs(), nan=0.0, posinf=0.0)
    return power * (1 + spread) + FLUSHED


OPERATOR = Operator(
    source="aten",
    name="pow",
    interfaces=(
        pairs.tensors("pow.Tensor_Tensor", kinds=_KINDS, integers=False, further=_TENSOR, few=True),
        pairs.number("pow.Tensor_Scalar", further=_TENSOR_SCALAR),
        pairs.number("pow.Scalar", first=True, scalars=(0.001, 2.5, 100.001), further=_SCALAR),
        pairs.out("pow.Tensor_Tensor_out", tensor_tensor, base=_KINDS),
        pairs.out(
            "pow.Tensor_Scalar_out", tensor_scalar, base={"kind": "positive", "scalar": 1.5}, broadcasts=False, few=True
        ),
        pairs.out("pow.Scalar_out", scalar_tensor, base={"scalar": 1.5}, broadcasts=False, few=True),
    ),
    compare=Close(scale=_scale, slack=4.0),
    description="The first operand to the power of the second, element by element, with broadcasting.",
    notes=(
        "Operands promote as in PyTorch, a number too: see `torch.result_type`.",
        "A negative base has powers for whole exponents only, else NaN; 0 to a negative power is infinity.",
        "Anything to the power 0 is 1, and 1 to any power (NaN included, both times).",
        "Integer powers wrap. A negative number as the exponent of integers is an error (RuntimeError).",
        pairs.HALF_NOTE,
        pairs.OUT_NOTE,
        "Complex tensors, and integer tensors with negative exponents in a tensor, are not asked for.",
    ),
    left_out=builtins(
        "pow", "int complex float int_float float_int float_complex complex_float Scalar_Scalar int_to_int"
    ),
    usual=FLOATING,
    family="multiplicative",
)
