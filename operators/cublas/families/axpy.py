"""Scaled vector addition: `axpy` of every type, `y <- alpha x + y`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import buffers, published, routine
from kgb_gym.operators.cublas.families.routine import INCREMENTS
from kgb_gym.operators.cublas.families.vectors import LARGE
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker


def build(
    make: Maker, *, n: int, alpha: Any, incx: int, incy: int, dtype: torch.dtype, values: str = "normal",
    layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `axpy` call; `values` of x: `normal`, `trap`, or `nan` (for alpha = 0)."""
    x = buffers.vector(make, n, incx, dtype, kind=values, layout=layout)
    y = buffers.vector(make, n, incy, dtype, guard="kept", layout=layout)
    return make.call(n, buffers.scalar(alpha, dtype), x, incx, y, incy)


def oracle(n: int, alpha: Any, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int) -> dict[str, torch.Tensor]:
    """y after the call, in double precision."""
    wide = buffers.wide(y.dtype)
    answer = y.to(wide)
    factor = buffers.seen(alpha, y.dtype)
    if factor != 0 and n > 0:
        answer[buffers.positions(n, incy)] += factor * x.to(wide)[buffers.positions(n, incx)]
    return {"y": answer}


def touched(n: int, alpha: Any, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int) -> dict[str, torch.Tensor]:
    """True at the n elements of y: not between them or behind."""
    mask = torch.zeros(y.shape, dtype=torch.bool)
    mask[buffers.positions(n, incy)] = True
    return {"y": mask}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Another length, other increments, scalar and offset."""
    return {
        **params,
        "n": buffers.jitter_size(rng, params["n"]),
        "alpha": buffers.jitter_scalar(rng, params["dtype"]),
        "incx": rng.choice((*INCREMENTS, 4, -3)),
        "incy": rng.choice((*INCREMENTS, 4, -3)),
        "layout": rng.choice(buffers.LAYOUTS),
        "values": "normal",
    }


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |x| + |y|."""
    sizes = buffers.magnitudes(arguments)
    return oracle(**{name: sizes[name] for name in ("n", "alpha", "x", "incx", "y", "incy")})["y"]


COMPARE = Close(scale=scale, slack=2.0)


def axpy(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?axpy_v2`: y <- alpha x + y over n elements with increments."""
    return routine.declare(
        name,
        build=build,
        oracle=oracle,
        touched=touched,
        writes=("y",),
        grids=_grids(name, dtype),
        jitter=jitter,
        compare=COMPARE,
        description="Scaled vector addition y <- alpha*x + y over n elements.",
        notes=(
            (
                "x and y are one-dimensional buffers. Element i of a vector is at index i*inc for inc >= 0 and at "
                "(i - (n-1))*inc for inc < 0; incx = 0 reads x[0] for all. The elements in between and behind hold NaN in x, and must keep their "
                "bits in y."
            ),
            "alpha = 0: x is not read, y does not change. n <= 0: nothing is written.",
        ),
        family="axpy",
    )


def _grids(name: str, dtype: torch.dtype) -> dict[str, tuple[Grid, ...]]:
    kind = {"dtype": (grids.plain_value(dtype),)}
    numbers: tuple[Any, ...] = (1.0, -0.999, 100.001, 0.001)
    if dtype.is_complex:
        numbers = (1.0, [0.5, 0.3], [0.0, -1.0], [100.001, 0.001])
    awkward: dict[str, Any] = {
        "incx": INCREMENTS,
        "incy": INCREMENTS,
        "alpha": numbers,
        "values": ("normal", "trap"),
        "layout": buffers.LAYOUTS,
        **kind,
    }
    base: dict[str, Any] = {"dtype": kind["dtype"][0], "incx": -2, "incy": 3, "alpha": numbers[1]}
    edges = grids.points(
        {**base, "n": 0},
        {**base, "n": -1},
        {**base, "n": 6, "alpha": 0.0},
        {**base, "n": 2},
        {**base, "n": 6, "incx": 0},
        *({**base, "n": 40, "values": kind} for kind in buffers.EXTREMES),
    )
    timed, paper = published.paper(name, dtype, weight=lambda p: p["n"], timed=lambda p: p["n"] >= 1024)
    large = grids.pairwise(origin="extra", n=(2, 17, 33, 5333, 1000003), **awkward)
    quick = grids.pairwise(n=(1, 17, 71, 497, 1100), **awkward)
    smoke = grids.points({**base, "n": 9}, {**base, "n": 33, "incx": 1, "incy": 1}, origin="paper")
    ours = grids.points({**base, "n": LARGE, "incx": 1, "incy": 1}, origin="extra", timed=True)
    return {"paper": (timed, paper, ours, large, edges), "quick": (quick, edges), "smoke": (smoke,)}
