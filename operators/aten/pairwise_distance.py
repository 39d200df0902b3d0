"""Distances between corresponding vectors (aten::pairwise_distance)."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import suites, values
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    other: Sequence[int] | None = None,
    other_dtype: torch.dtype | None = None,
    p: float | str | None = None,
    eps: float | None = None,
    keepdim: bool | None = None,
    layout: str = "contiguous",
    other_layout: str = "contiguous",
    same: bool = False,
) -> Call:
    """`f(x1, x2[, p[, eps[, keepdim]]])`; `p` may be `inf` or `-inf`; `same`: equal values, at another address."""
    first = values(make, shape, dtype, "normal", layout)
    second = values(make, shape if other is None else other, other_dtype or dtype, "normal", other_layout)
    if same:
        second.copy_(first)
    args: tuple[Any, ...] = () if p is None else (float(p),)
    if eps is not None:
        args = (*args, eps)
    if keepdim is not None:
        args = (*args, keepdim)
    return make.call(first, second, *args)


def _difference(arguments: Arguments) -> torch.Tensor:
    first: torch.Tensor = arguments["x1"].double()
    second: torch.Tensor = arguments["x2"].double()
    return (first - second + float(arguments.get("eps", 1e-6))).abs()


def _terms(arguments: Arguments) -> int:
    return max(1, int(_difference(arguments).shape[-1])) if arguments["x1"].dim() or arguments["x2"].dim() else 1


def _error(arguments: Arguments) -> torch.Tensor:
    """What the error of (Σ dᵖ)^(1/p) is measured by, in units of roundoff.

    d carries a relative error of 2 u and that of rounding x1 - x2 before eps joins; a power by exponential and
    logarithm carries u times the exponent's magnitude, which the root divides by p again.
    """
    d = _difference(arguments)
    p = float(arguments.get("p", 2.0))
    keepdim = bool(arguments.get("keepdim", False))
    dim = -1 if d.dim() else None
    size = torch.linalg.vector_norm(d, p, dim, keepdim) if d.numel() or p != float("inf") else d.sum(dim, keepdim)
    if p in (0.0, 1.0, 2.0) or abs(p) == float("inf") or not d.numel():
        return size
    bits = torch.log2(d).abs().nan_to_num(posinf=0.0).amax(dim if dim is not None else (), keepdim)
    return size * (1 + bits + torch.log2(size).abs().nan_to_num(posinf=0.0))


def _jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another shape for both; a broadcast operand becomes one vector."""
    new = common.jitter(rng, params)
    if params.get("other") is not None:
        new["other"] = new["shape"][-1:]
    return new


_AWKWARD = points(
    {"shape": (37,), "dtype": "float32"},
    {"shape": (9, 33), "dtype": "float32", "p": 0.5},
    {"shape": (9, 33), "dtype": "float32", "p": 0.0, "keepdim": True},
    {"shape": (9, 33), "dtype": "float32", "p": "inf"},
    {"shape": (7, 29), "dtype": "bfloat16", "p": "-inf"},
    {"shape": (5, 31), "dtype": "float32", "p": -1.5},
    {"shape": (9, 33), "dtype": "float32", "p": 2.5, "layout": "transposed", "other_layout": "dilated"},
    {"shape": (6, 40), "dtype": "float32", "same": True},
    {"shape": (6, 40), "dtype": "float32", "same": True, "p": 3.0, "eps": 0.0001},
    {"shape": (4, 9, 21), "dtype": "float16", "other": (9, 21), "layout": "sliced"},
    {"shape": (4, 1, 21), "dtype": "float32", "other": (3, 21), "p": 1.0, "keepdim": True},
    {"shape": (9, 1), "dtype": "float32", "other": (9, 17)},
    {"shape": (7, 13), "dtype": "float64", "p": 3.0, "eps": 0.25},
    {"shape": (7, 13), "dtype": "float16", "other_dtype": "float32"},
    {"shape": (7, 13), "dtype": "int32"},
    {"shape": (3, 0), "dtype": "float32"},
    {"shape": (0, 3), "dtype": "float32", "p": 3.0},
    {"shape": (2, 3001), "dtype": "float32", "p": 1.0},
    {"shape": (270, 9), "dtype": "float32", "p": 3.0},
    {"shape": (3, 4), "dtype": "float32", "other": (3, 5), "origin": "beyond"},
)

OPERATOR = Operator(
    source="aten",
    name="pairwise_distance",
    interfaces=(
        Interface(
            "pairwise_distance",
            _build,
            suites(
                paper=(
                    product(shape=((2, 3), (128, 256), (512, 256)), dtype=FLOATS, timed=True),
                    product(
                        shape=((2, 3), (128, 256), (512, 256)),
                        dtype=FLOATS,
                        p=(1.0, 2.0, 3.0),
                        eps=(1e-6, 1e-4),
                        keepdim=(False, True),
                        timed=True,
                    ),
                    product(shape=((4096, 1000),), dtype=FLOATS, p=(1.5, 2.0), origin="extra"),
                    _AWKWARD,
                ),
                quick=(
                    pairwise(
                        shape=((2, 3), (40, 25)),
                        dtype=FLOATS,
                        p=(1.0, 2.0, 3.0),
                        eps=(1e-6, 1e-4),
                        keepdim=(False, True),
                    ),
                    _AWKWARD,
                ),
                smoke=(
                    points({"shape": (3, 17), "dtype": "float32"}, {"shape": (9, 4), "dtype": "float16", "p": 1.0}),
                ),
            ),
            _jitter,
        ),
    ),
    compare=Close(depth=_terms, scale=_error),
    description="The p-norm of x1 - x2 + eps over the last dimension: (Σ|x1 - x2 + eps|^p)^(1/p).",
    notes=(
        "`eps` is added to every signed difference before its magnitude is taken.",
        "p = 0 counts the differences that are not zero; infinity takes the largest, -infinity the smallest magnitude.",
        "The operands broadcast and promote; integers give float32. With `keepdim` the last dimension stays, of size 1.",
        "16-bit inputs are computed in fp32, differences included, and rounded once.",
        "An empty last dimension gives zeros.",
    ),
    usual=FLOATING,
    family="reduction",
)
