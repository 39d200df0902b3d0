"""Addition and its kin (`add`, `sub`, `rsub`): two operands and `alpha`."""

from __future__ import annotations

from collections.abc import Callable

from kgb_gym.operators.aten.families import binary
from kgb_gym.operators.aten.families.binary import ALPHAS, QUICK_SHAPES, tensor_scalar, tensor_tensor, with_out
from kgb_gym.operators.aten.families.common import suites
from kgb_gym.operators.aten.families.unary import TABLE_10
from kgb_gym.operators.declaration import Interface
from kgb_gym.operators.grids import FLOATS, POINTWISE, Params, pairwise, points, product

NOTES = (
    "Operands promote as in PyTorch: see `torch.result_type`. Integers wrap; for bools addition is `or`.",
    "The second operand may arrive as a Python int or float.",
    "PyTorch adds 16-bit operands in fp32 and rounds once; two roundings more to their own type are tolerated.",
)
SUBTRACTION_NOTES = (
    "Operands promote as in PyTorch: see `torch.result_type`. Integers wrap; a bool operand is an error (RuntimeError).",
    *NOTES[1:],
)
IN_PLACE_NOTES = (
    "`self` may not grow by broadcasting, and may not overlap itself (an expanded tensor): RuntimeError.",
    "`x.add_(x)` is right.",
)

_QUICK_ALPHAS = (0.001, 2)
"""With these a kernel that computes in 16 bits rounds once or harmlessly: the paper's gate has no room for more."""

_TENSOR = points(
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (5, 1, 7), "dtype": "float32", "other": (6, 1), "layout": "transposed", "alpha": 2},
    {"shape": (9, 31), "dtype": "bfloat16", "other": (31,), "other_layout": "dilated", "alpha": -0.5},
    {"shape": (8, 33), "dtype": "float16", "other_dtype": "float32", "other_layout": "transposed"},
    {"shape": (57,), "dtype": "float16", "other": (), "other_dtype": "float32", "alpha": 2},
    {"shape": (7, 19), "dtype": "int32", "other_dtype": "float32", "alpha": 0.5},
    {"shape": (77,), "dtype": "int8", "other_dtype": "int64", "alpha": -3},
    {"shape": (95,), "dtype": "bool"},
    {"shape": (31, 7), "dtype": "float32", "alpha": -111.999},
    # fp32 holds this alpha: scalars of kernels are fp32.
    {"shape": (5, 21), "dtype": "float64", "alpha": 0.125, "layout": "sliced"},
    {"shape": (63,), "dtype": "float32", "kind": "special", "alpha": -1},
    {"shape": (29,), "dtype": "int64", "number": "other", "scalar": 2.5, "origin": "beyond"},
    {"shape": (3,), "dtype": "float32", "other": (2,), "origin": "beyond"},
)
_QUICK_SCALAR = points(
    {"shape": (), "dtype": "float32", "scalar": -0.999, "alpha": 0.001},
    {"shape": (23, 41), "dtype": "float16", "scalar": 0.001, "alpha": -111.999},
    {"shape": (4, 16, 15), "dtype": "bfloat16", "scalar": 100.001, "alpha": -0.999},
    origin="paper",
)
_SCALAR = points(
    {"shape": (5, 17), "dtype": "float64", "scalar": 0.125, "alpha": 100.125, "layout": "transposed"},
    {"shape": (39,), "dtype": "int32", "scalar": 7, "alpha": 2},
    {"shape": (21,), "dtype": "bool", "scalar": 1.5, "origin": "beyond"},
)
_OUT = points(
    {"shape": (12, 31), "dtype": "float32", "alpha": 2},
    {"shape": (5, 1), "dtype": "float16", "other": (5, 33), "out": "empty"},
    {"shape": (3, 7, 11), "dtype": "bfloat16", "out": "dilated", "other_layout": "transposed"},
    {"shape": (9, 15), "dtype": "float32", "out": "transposed", "out_dtype": "float16"},
)
_SCALAR_OUT = points(
    {"shape": (12, 31), "dtype": "float32", "scalar": 0.75, "alpha": -2},
    {"shape": (7, 9), "dtype": "float16", "scalar": -111.999, "out": "empty", "layout": "dilated"},
    {"shape": (3, 5, 7), "dtype": "bfloat16", "scalar": 3, "out": "dilated"},
)
_SMOKE = points({"shape": (17,), "dtype": "float32", "alpha": 2}, {"shape": (3, 5), "dtype": "float16"})
_SMOKE_SCALAR = points(
    {"shape": (17,), "dtype": "float32", "scalar": 0.5}, {"shape": (5,), "dtype": "int64", "scalar": 3}
)
_STRIDED = tuple(
    {"shape": p["shape"], "dtype": d, "alpha": 0.001, "layout": layout}
    for p in TABLE_10[:3]
    for d, layout in zip(FLOATS, ("transposed", "dilated", "sliced"), strict=True)
)


def functional(
    name: str, out: str = "out", refused: Callable[[Params], bool] = lambda point: False
) -> tuple[Interface, ...]:
    """Interfaces `Tensor`, `Scalar`, `out` (or what `out` says) and `Scalar_out`; `refused`: which further points of
    tensors are errors."""
    tensor, written = _TENSOR.beyond(refused), _OUT.beyond(refused)
    return (
        Interface(
            f"{name}.Tensor",
            tensor_tensor,
            suites(
                paper=(
                    product(shape=POINTWISE, dtype=FLOATS, alpha=ALPHAS, timed=True),
                    points(*_STRIDED),
                    product(shape=POINTWISE[1:4], dtype=FLOATS, number=("other",), scalar=ALPHAS[1:2],
                            alpha=ALPHAS[2:3], origin="extra").beyond(refused),
                    tensor,
                ),
                quick=(pairwise(shape=QUICK_SHAPES, dtype=FLOATS, alpha=_QUICK_ALPHAS), tensor),
                smoke=(_SMOKE,),
            ),
            binary.jitter,
        ),
        Interface(
            f"{name}.Scalar",
            tensor_scalar,
            suites(
                paper=(product(shape=POINTWISE, dtype=FLOATS, scalar=ALPHAS, alpha=ALPHAS, timed=True), _SCALAR),
                quick=(_QUICK_SCALAR, _SCALAR),
                smoke=(_SMOKE_SCALAR,),
            ),
            binary.jitter,
        ),
        Interface(
            f"{name}.{out}",
            with_out(tensor_tensor),
            suites(
                paper=(product(shape=POINTWISE[2:5], dtype=FLOATS, alpha=ALPHAS[:1], origin="extra"), written),
                quick=(written,),
                smoke=(_SMOKE,),
            ),
            binary.jitter,
        ),
        Interface(
            f"{name}.Scalar_out",
            with_out(tensor_scalar),
            suites(
                paper=(product(shape=POINTWISE[2:5], dtype=FLOATS, scalar=ALPHAS[:1], origin="extra"), _SCALAR_OUT),
                quick=(_SCALAR_OUT,),
                smoke=(_SMOKE_SCALAR,),
            ),
            binary.jitter,
        ),
    )  # fmt: skip


_IN_PLACE = points(
    {"shape": (0, 3), "dtype": "float32"},
    {"shape": (5, 6, 7), "dtype": "float32", "other": (6, 1), "layout": "transposed", "alpha": 2},
    {"shape": (9, 31), "dtype": "bfloat16", "other": (31,), "layout": "sliced", "alpha": -0.5},
    {"shape": (8, 33), "dtype": "float32", "other_dtype": "float16", "layout": "dilated"},
    {"shape": (57,), "dtype": "float16", "other": (), "other_dtype": "float32", "alpha": 2},
    {"shape": (7, 19), "dtype": "float32", "other_dtype": "int32", "alpha": 0.5},
    {"shape": (77,), "dtype": "int8", "other_dtype": "int64", "alpha": -3},
    {"shape": (95,), "dtype": "bool"},
    {"shape": (31, 7), "dtype": "float32", "alpha": -111.999},
    {"shape": (5, 21), "dtype": "float64", "alpha": 0.125, "layout": "offset"},
    {"shape": (13, 13), "dtype": "float32", "share": "self", "alpha": 3},
    {"shape": (63,), "dtype": "float32", "kind": "special", "alpha": -1},
    {"shape": (15,), "dtype": "bfloat16", "number": "other", "scalar": 2.5, "alpha": 2, "origin": "beyond"},
    {"shape": (3,), "dtype": "float32", "other": (2, 3), "origin": "beyond"},
    {"shape": (3, 5), "dtype": "float32", "layout": "expanded", "origin": "beyond"},
)


def in_place(name: str) -> tuple[Interface, ...]:
    """Interfaces `Tensor` and `Scalar` of the in-place form."""
    return (
        Interface(
            f"{name}.Tensor",
            tensor_tensor,
            suites(
                paper=(product(shape=POINTWISE, dtype=FLOATS, alpha=ALPHAS, timed=True), points(*_STRIDED), _IN_PLACE),
                quick=(pairwise(shape=QUICK_SHAPES, dtype=FLOATS, alpha=_QUICK_ALPHAS), _IN_PLACE),
                smoke=(_SMOKE,),
            ),
            binary.no_internal_overlap,
        ),
        Interface(
            f"{name}.Scalar",
            tensor_scalar,
            suites(
                paper=(product(shape=POINTWISE, dtype=FLOATS, scalar=ALPHAS, alpha=ALPHAS, timed=True), _SCALAR),
                quick=(_QUICK_SCALAR, _SCALAR),
                smoke=(_SMOKE_SCALAR,),
            ),
            binary.no_internal_overlap,
        ),
    )  # fmt: skip
