"""Sampling grids of affine maps (aten::affine_grid_generator)."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators.aten.families.common import LAYOUTS, buffer, suites, values
from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.declaration import Call, Interface, Operator
from kgb_gym.operators.grids import FLOATING, FLOATS, jitter_shape, pairwise, points, product
from kgb_gym.operators.maker import Maker


def _build(
    make: Maker,
    *,
    size: Sequence[int],
    dtype: torch.dtype,
    align_corners: bool,
    theta: Sequence[int] | None = None,
    layout: str = "contiguous",
) -> Call:
    """`f(theta, size, align_corners)`; `theta`: its sizes, where they are not those that `size` asks for."""
    rank = len(size) - 2
    shape = (size[0], rank, rank + 1) if theta is None else theta
    return make.call(values(make, shape, dtype, "normal", layout), list(size), align_corners)


def _build_out(make: Maker, *, out: str = "same", out_dtype: torch.dtype | None = None, **params: Any) -> Call:
    plain = _build(make, **params)
    size = params["size"]
    shape = (size[0], *size[2:], len(size) - 2)
    return Call(plain.args, {"out": buffer(make, shape, out_dtype or params["dtype"], out)})


def _error(arguments: Arguments) -> torch.Tensor:
    """Σ|theta| over a row: coordinates lie in [-1, 1] and are off by a roundoff of 1."""
    theta: torch.Tensor = arguments["theta"].double().abs().sum(-1)
    size = arguments["size"]
    return theta.view(theta.shape[0], *(1 for _ in size[2:]), theta.shape[1]).expand(-1, *size[2:], -1)


def _jitter(rng: random.Random, params: Mapping[str, Any]) -> dict[str, Any]:
    """Another batch and other spatial sizes; errors are repaired."""
    new = dict(params)
    new.pop("theta", None)
    size = list(params["size"]) if len(params["size"]) >= 4 else [2, 1, 5, 6]
    channels = size.pop(1)
    moved = jitter_shape(rng, size, 2048)
    new["size"] = [moved[0], channels, *(max(2, n) for n in moved[1:])]
    if params.get("layout") != "expanded":
        new["layout"] = rng.choice(LAYOUTS)
    return new


_AXES: dict[str, Any] = {
    "size": ((1, 3, 4, 4), (2, 3, 64, 64), (4, 3, 128, 256), (1, 2, 4, 4, 4), (2, 1, 8, 16, 16), (1, 1, 16, 32, 32)),
    "dtype": FLOATS,
    "align_corners": (True, False),
}
_QUICK: dict[str, Any] = {**_AXES, "size": ((1, 3, 4, 4), (2, 3, 17, 33), (1, 2, 4, 4, 4), (2, 1, 5, 7, 9))}
_AWKWARD = points(
    {"size": (0, 1, 3, 4), "dtype": "float32", "align_corners": True},
    {"size": (2, 1, 0, 4), "dtype": "float32", "align_corners": False},
    {"size": (2, 1, 1, 5), "dtype": "float32", "align_corners": True},
    {"size": (2, 1, 5, 1), "dtype": "float32", "align_corners": False},
    {"size": (2, 0, 1, 6, 1), "dtype": "float32", "align_corners": True},
    {"size": (3, 2, 5, 6), "dtype": "float32", "align_corners": True, "layout": "transposed"},
    {"size": (3, 2, 5, 6, 3), "dtype": "bfloat16", "align_corners": False, "layout": "dilated"},
    {"size": (3, 1, 5, 6), "dtype": "float16", "align_corners": True, "layout": "expanded"},
    {"size": (2, 1, 13, 9), "dtype": "float64", "align_corners": False, "layout": "sliced"},
    {"size": (2, 1, 3, 9, 4), "dtype": "float64", "align_corners": True},
    {"size": (1, 1, 60, 61), "dtype": "float32", "align_corners": False},
    {"size": (3, 1, 2, 2), "theta": (2, 2, 3), "dtype": "float32", "align_corners": True, "origin": "beyond"},
    {"size": (2, 1, 2, 2), "theta": (2, 3, 3), "dtype": "float32", "align_corners": True, "origin": "beyond"},
    {"size": (2, 1, 2), "theta": (2, 2, 3), "dtype": "float32", "align_corners": True, "origin": "beyond"},
)
_OUT = points(
    {"size": (2, 1, 9, 7), "dtype": "float32", "align_corners": True},
    {"size": (2, 1, 9, 7), "dtype": "float16", "align_corners": False, "out": "empty"},
    {"size": (2, 1, 3, 5, 4), "dtype": "bfloat16", "align_corners": False, "out": "dilated"},
    {"size": (2, 1, 2, 2), "dtype": "float32", "align_corners": True, "out_dtype": "float64", "origin": "beyond"},
)
_SMOKE = points(
    {"size": (2, 1, 5, 7), "dtype": "float32", "align_corners": True},
    {"size": (1, 1, 3, 2, 4), "dtype": "float16", "align_corners": False},
)

OPERATOR = Operator(
    source="aten",
    name="affine_grid_generator",
    interfaces=(
        Interface(
            "affine_grid_generator",
            _build,
            suites(
                paper=(
                    product(**_AXES, timed=True),
                    product(**{**_AXES, "size": ((8, 1, 512, 512),)}, origin="extra"),
                    _AWKWARD,
                ),
                quick=(pairwise(**_QUICK), _AWKWARD),
                smoke=(_SMOKE,),
            ),
            _jitter,
        ),
        Interface(
            "affine_grid_generator.out",
            _build_out,
            suites(paper=(product(**_AXES), _OUT), quick=(_OUT,), smoke=(_SMOKE,)),
            _jitter,
        ),
    ),
    compare=Close(depth=lambda arguments: 4, scale=_error),
    description=(
        "For every item of the batch and every place of the grid that `size` (N, C, H, W) or (N, C, D, H, W) asks for: "
        "theta[item] times the column (x, y, 1) or (x, y, z, 1), where x runs along W, y along H and z along D."
    ),
    notes=(
        "The answer has the shape (N, H, W, 2) or (N, D, H, W, 3) and the type of `theta`, (N, 2, 3) or (N, 3, 4).",
        "With `align_corners` the i-th of n coordinates is 2i / (n - 1) - 1, without it (2i + 1) / n - 1; of one it is 0.",
        "16-bit inputs are computed in fp32, coordinates included, and rounded once.",
        "A `size` of another length and a `theta` that does not fit are errors.",
    ),
    usual=FLOATING,
    family="grid",
)
