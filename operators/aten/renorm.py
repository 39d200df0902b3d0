"""Slices scaled down to a largest norm (aten::renorm)."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families import common
from kgb_gym.operators.aten.families.common import buffer, suites, values
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(
    make: Maker,
    *,
    shape: Sequence[int],
    dtype: torch.dtype,
    p: float | str,
    dim: int,
    maxnorm: float,
    layout: str = "contiguous",
    kind: str = "normal",
    mixed: bool = False,
) -> Call:
    """`f(self, p, dim, maxnorm)`; `p` may be `inf`; `mixed`: every other slice along `dim` is a thousandth."""
    tensor = values(make, shape, dtype, kind, layout)
    if mixed:
        tensor.movedim(dim, 0)[::2].mul_(0.001)
    return make.call(tensor, float(p) if isinstance(p, str) else p, dim, maxnorm)


def _build_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    plain = _build(make, **params)
    return Call(plain.args, {"out": buffer(make, params["shape"], out_dtype or params["dtype"], out)})


def _terms(arguments: Arguments) -> int:
    tensor: torch.Tensor = arguments["self"]
    return math.prod(tensor.shape) // max(1, tensor.shape[arguments["dim"]])


def _error(arguments: Arguments) -> torch.Tensor:
    """|answer|, and for powers by exponential and logarithm what the exponents' magnitudes add (see
    `pairwise_distance`)."""
    tensor: torch.Tensor = arguments["self"].double()
    p = float(arguments["p"])
    size = torch.renorm(tensor, p, arguments["dim"], float(arguments["maxnorm"])).abs()
    if p in (1.0, 2.0) or math.isinf(p):
        return size
    bits = torch.log2(tensor.abs()).abs().nan_to_num(posinf=0.0)
    return size * (1 + 2 * bits.max() + math.log2(max(2, tensor.numel())) / p)


def _jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    new = common.jitter(rng, params)
    rank = len(new["shape"])
    if rank > 1 and not -rank <= params["dim"] < rank:
        new["dim"] = 0
    return new


_AXES: dict[str, Any] = {
    "shape": ((2, 3), (128, 256), (512, 512)),
    "dtype": FLOATS,
    "p": (1.0, 2.0),
    "dim": (0, 1),
    "maxnorm": (0.5, 1.0),
}
_AWKWARD = points(
    {"shape": (0, 3), "dtype": "float32", "p": 2, "dim": 0, "maxnorm": 1.0},
    {"shape": (9, 33), "dtype": "float32", "p": 2, "dim": 0, "maxnorm": 3, "mixed": True},
    {"shape": (9, 33), "dtype": "float16", "p": 1.0, "dim": -1, "maxnorm": 2.0, "mixed": True},
    {"shape": (9, 33), "dtype": "float32", "p": 0.5, "dim": 0, "maxnorm": 10.0, "mixed": True},
    {"shape": (9, 33), "dtype": "float32", "p": 3.0, "dim": 1, "maxnorm": 1.0, "layout": "transposed"},
    {"shape": (9, 33), "dtype": "bfloat16", "p": "inf", "dim": 0, "maxnorm": 1.5, "layout": "dilated"},
    {"shape": (3, 7, 11), "dtype": "float32", "p": 2.0, "dim": 1, "maxnorm": 5.0, "mixed": True},
    {"shape": (3, 4, 5, 6), "dtype": "float32", "p": 2.0, "dim": -2, "maxnorm": 5.0, "layout": "sliced"},
    {"shape": (7, 13), "dtype": "float64", "p": 2.0, "dim": 0, "maxnorm": 0.3, "layout": "offset"},
    {"shape": (7, 13), "dtype": "float64", "p": 2.5, "dim": 1, "maxnorm": 0.3},
    {"shape": (7, 13), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": 0.0},
    {"shape": (5, 40), "dtype": "float32", "p": 2.0, "dim": 1, "maxnorm": 1.0, "kind": "special"},
    {"shape": (9, 5), "dtype": "float32", "p": "inf", "dim": 0, "maxnorm": 1.5, "kind": "special"},
    {"shape": (6, 6), "dtype": "float32", "p": 1.0, "dim": 0, "maxnorm": 0.001, "kind": "small"},
    {"shape": (2, 5003), "dtype": "float16", "p": 2.0, "dim": 0, "maxnorm": 1.0},
    {"shape": (200, 9), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": 1.0},
    {"shape": (9, 200), "dtype": "float32", "p": 1.0, "dim": 1, "maxnorm": 1.0},
    {"shape": (7,), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": 1.0, "origin": "beyond"},
    {"shape": (3, 4), "dtype": "float32", "p": 2.0, "dim": 2, "maxnorm": 1.0, "origin": "beyond"},
    {"shape": (3, 4), "dtype": "float32", "p": 0.0, "dim": 0, "maxnorm": 1.0, "origin": "beyond"},
    {"shape": (3, 4), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": -1.0, "origin": "beyond"},
)
_OUT = points(
    {"shape": (9, 33), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": 1.0},
    {"shape": (17, 5), "dtype": "float16", "p": 1.0, "dim": 1, "maxnorm": 1.0, "out": "empty"},
    {"shape": (3, 9, 7), "dtype": "bfloat16", "p": 2.0, "dim": 1, "maxnorm": 0.5, "out": "dilated"},
    {"shape": (6, 35), "dtype": "float32", "p": 2, "dim": -1, "maxnorm": 1, "out": "transposed", "mixed": True},
    {
        "shape": (3, 4),
        "dtype": "float32",
        "p": 2.0,
        "dim": 0,
        "maxnorm": 1.0,
        "out_dtype": "float64",
        "origin": "beyond",
    },
)
_SMOKE = points(
    {"shape": (3, 17), "dtype": "float32", "p": 2.0, "dim": 0, "maxnorm": 1.0},
    {"shape": (5, 4), "dtype": "float16", "p": 1.0, "dim": 1, "maxnorm": 0.5},
)

OPERATOR = Operator(
    source="aten",
    name="renorm",
    interfaces=(
        Interface(
            "renorm",
            _build,
            suites(
                paper=(
                    product(**_AXES, timed=True),
                    product(
                        shape=((2048, 2048),), dtype=FLOATS, p=(2.0,), dim=(0, 1), maxnorm=(30.0,), mixed=(True,),
                        origin="extra",
                    ),
                    _AWKWARD,
                ),
                quick=(pairwise(**{**_AXES, "shape": ((2, 3), (40, 29))}), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            _jitter,
        ),
        Interface(
            "renorm.out",
            _build_out,
            suites(paper=(product(**_AXES), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            _jitter,
        ),
    ),
    compare=Close(depth=_terms, scale=_error),
    description=(
        "Scales every slice along `dim` (all elements with one index there) whose p-norm exceeds `maxnorm` by "
        "maxnorm / (norm + 1e-7); other slices are copied."
    ),
    notes=(
        "`p` is positive, possibly infinite; `maxnorm` is not negative; `self` has two or more dimensions; else an error.",
        "A slice whose norm is NaN stays as it is; in one of infinite norm every element is multiplied by 0.",
        "16-bit inputs are computed in fp32 and rounded once.",
    ),
    usual=FLOATING,
    family="reduction",
)  # fmt: skip
