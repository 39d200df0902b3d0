"""Vectors alone: `copy`, `swap`, `scal`, `dot` (plain and conjugated) and `asum` of every type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close, Exact
from kgb_gym.operators.cublas.families import buffers, published, routine
from kgb_gym.operators.cublas.families.routine import INCREMENTS
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import CONVERTED_INPUTS

QUICK = (1, 17, 71, 497, 1100)
QUICK_SUMS = (1, 17, 497, 1100, 2300)
EXTRA = (2, 17, 33, 5333, 1000003)
LARGE = 1 << 24
"""Elements of the timed vectors that are ours: enough to be bound by memory, not by the launch."""


def build_pair(
    make: Maker, *, n: int, incx: int, incy: int, dtype: torch.dtype, values: str = "normal",
    layout: str = "contiguous", guard: str = "nan",
) -> Call:  # fmt: skip
    """One call of two vectors; `guard` stands between the elements of x."""
    x = buffers.vector(make, n, incx, dtype, kind=values, guard=guard, layout=layout)
    y = buffers.vector(make, n, incy, dtype, guard="kept", layout=layout)
    return make.call(n, x, incx, y, incy)


def build_swap(make: Maker, **params: Any) -> Call:
    """One `swap`: both vectors are written, so what lies between their elements must survive."""
    return build_pair(make, **params, guard="kept")


def build_scal(
    make: Maker, *, n: int, alpha: Any, incx: int, dtype: torch.dtype, values: str = "normal",
    layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `scal`."""
    x = buffers.vector(make, n, abs(incx), dtype, kind=values, guard="kept", layout=layout)
    return make.call(n, buffers.scalar(alpha, dtype), x, incx)


def build_dot(
    make: Maker, *, n: int, incx: int, incy: int, dtype: torch.dtype, values: str = "normal",
    layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `dot`, whose result goes to a one-element tensor of NaN."""
    x = buffers.vector(make, n, incx, dtype, kind=values, layout=layout)
    y = buffers.vector(make, n, incy, dtype, kind=values, layout=layout)
    return make.call(n, x, incx, y, incy, make.out((1,), dtype))


def build_asum(
    make: Maker, *, n: int, incx: int, dtype: torch.dtype, values: str = "normal", layout: str = "contiguous"
) -> Call:  # fmt: skip
    """One `asum`, whose result goes to a one-element tensor of NaN."""
    x = buffers.vector(make, n, abs(incx), dtype, kind=values, layout=layout)
    return make.call(n, x, incx, make.out((1,), dtype))


def copied(n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int) -> dict[str, torch.Tensor]:
    """y after `copy`."""
    answer = y.clone()
    answer[buffers.positions(n, incy)] = x[buffers.positions(n, incx)]
    return {"y": answer}


def swapped(n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int) -> dict[str, torch.Tensor]:
    """x and y after `swap`."""
    return {**copied(n, x, incx, y, incy), "x": copied(n, y, incy, x, incx)["y"]}


def scaled(n: int, alpha: Any, x: torch.Tensor, incx: int) -> dict[str, torch.Tensor]:
    """x after `scal`: NaN stays NaN under alpha = 0."""
    answer = x.to(buffers.wide(x.dtype))
    if incx > 0:
        answer[buffers.positions(n, incx)] *= buffers.seen(alpha, x.dtype)
    return {"x": answer}


def product(
    n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, result: torch.Tensor, conjugate: bool = False
) -> dict[str, torch.Tensor]:
    """The sum of the products of the elements."""
    wide = buffers.wide(x.dtype)
    left, right = x.to(wide)[buffers.positions(n, incx)], y.to(wide)[buffers.positions(n, incy)]
    return {"result": ((left.conj() if conjugate else left) * right).sum().view(1)}


def conjugate_product(
    n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, result: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The sum of the products of the elements, those of x conjugated."""
    return product(n, x, incx, y, incy, result, conjugate=True)


def total(n: int, x: torch.Tensor, incx: int, result: torch.Tensor) -> dict[str, torch.Tensor]:
    """The sum of the magnitudes (real types)."""
    return {"result": x.double()[buffers.positions(n if incx > 0 else 0, incx)].abs().sum().view(1)}


def touched(n: int, incx: int, incy: int = 1, **arguments: Any) -> dict[str, torch.Tensor]:
    """True at the n elements of each vector."""
    masks = {}
    for name, inc in (("x", incx), ("y", incy)):
        if name in arguments:
            masks[name] = torch.zeros(arguments[name].shape, dtype=torch.bool)
            masks[name][buffers.positions(n, inc)] = True
    return masks


def touched_scal(n: int, alpha: Any, x: torch.Tensor, incx: int) -> dict[str, torch.Tensor]:
    """True at the n elements, if incx is positive."""
    return touched(n if incx > 0 else 0, incx, x=x)


def scale_scal(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |x|."""
    return scaled(**buffers.magnitudes(arguments))["x"]


def scale_dot(arguments: Mapping[str, Any]) -> torch.Tensor:
    """The sum of |x| |y|."""
    return product(**buffers.magnitudes(arguments))["result"]


def _terms(arguments: Mapping[str, Any]) -> int:
    return int(arguments["n"])


def _grids(
    name: str, dtype: torch.dtype, edges: list[dict[str, Any]], large: dict[str, Any], sizes: Sequence[int] = QUICK,
    **awkward: Any,
) -> dict[str, tuple[Grid, ...]]:  # fmt: skip
    kind = grids.plain_value(dtype)
    axes: dict[str, Any] = {**awkward, "values": ("normal", "trap"), "layout": buffers.LAYOUTS, "dtype": (kind,)}
    points = grids.points(*({"dtype": kind, **edge} for edge in edges))
    ours = grids.points({"dtype": kind, "n": LARGE, **large}, origin="extra", timed=True)
    base = {"dtype": kind, **large}
    smoke = grids.points({**base, **edges[0], "n": 9}, {**base, "n": 33}, origin="paper")
    return {
        "paper": (
            *published.paper(name, dtype, weight=lambda p: p["n"], timed=lambda p: p["n"] >= 1024),
            ours, grids.pairwise(origin="extra", n=EXTRA, **axes), points,
        ),
        "quick": (grids.pairwise(n=sizes, **axes), points),
        "smoke": (smoke,),
    }  # fmt: skip


_PAIR = {"incx": 1, "incy": 1}
_NOTHING = "n <= 0: nothing is written."


def _pair_edges(**more: Any) -> list[dict[str, Any]]:
    odd = {"incx": -2, "incy": 3, **more}
    return [
        {**odd, "n": 6},
        {**odd, "n": 0},
        {**odd, "n": -1},
        {**odd, "n": 2, "incy": -1},
        {"incx": 3, "incy": -3, "n": 5},
    ]


def copy(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?copy_v2`: y <- x."""
    edges: list[dict[str, Any]] = [
        *_pair_edges(),
        {"n": 6, "incx": 0, "incy": 1},
        {"n": 40, **_PAIR, "values": "special"},
    ]
    return routine.declare(
        name, build=build_pair, oracle=copied, touched=touched, writes=("y",), compare=Exact(), policy=CONVERTED_INPUTS,
        grids=_grids(name, dtype, edges, _PAIR, incx=INCREMENTS, incy=INCREMENTS),
        jitter=routine.jitter("n", "incx", "incy", "layout", "values"),
        description="Copies n elements from the vector x to the vector y: y <- x.",
        notes=(routine.VECTORS, "incx = 0: the one element is repeated.", _NOTHING), family="level1",
    )  # fmt: skip


def swap(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?swap_v2`: x <-> y."""
    edges: list[dict[str, Any]] = [*_pair_edges(), {"n": 40, **_PAIR, "values": "special"}]
    return routine.declare(
        name, build=build_swap, oracle=swapped, touched=touched, writes=("x", "y"), compare=Exact(), policy=CONVERTED_INPUTS,
        grids=_grids(name, dtype, edges, _PAIR, incx=INCREMENTS, incy=INCREMENTS),
        jitter=routine.jitter("n", "incx", "incy", "layout", "values"),
        description="Exchanges n elements of the vectors x and y: x <-> y. Both are written.",
        notes=(routine.VECTORS, _NOTHING), family="level1",
    )  # fmt: skip


def scal(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?scal_v2`: x <- alpha x."""
    edges: list[dict[str, Any]] = [
        {"n": 6, "incx": 3, "alpha": 100.001}, {"n": 0, "incx": 2, "alpha": 2.0}, {"n": -1, "incx": 1, "alpha": 2.0},
        {"n": 6, "incx": -1, "alpha": 2.0}, {"n": 6, "incx": 0, "alpha": 2.0}, {"n": 9, "incx": 1, "alpha": 0.0},
        {"n": 40, "incx": 2, "alpha": 0.0, "values": "special"}, {"n": 40, "incx": 1, "alpha": -0.5, "values": "special"},
        *({"n": 9, "incx": 1, "alpha": -0.5, "values": kind} for kind in buffers.FAR),
    ]  # fmt: skip
    return routine.declare(
        name, build=build_scal, oracle=scaled, touched=touched_scal, writes=("x",),
        compare=Close(scale=scale_scal, slack=2.0),
        grids=_grids(name, dtype, edges, {"incx": 1, "alpha": -0.999}, incx=(1, 2, 3), alpha=(1.0, -0.999, 100.001, 0.001)),
        jitter=routine.jitter("n", "layout", "values", "alpha", incx=(1, 2, 3, 4, 5)),
        description="Scales n elements of the vector x: x <- alpha*x.",
        notes=(routine.VECTORS, "alpha = 0 multiplies as well: NaN and infinities become NaN.",
               "n <= 0 or incx <= 0: nothing is written."), family="level1",
    )  # fmt: skip


def dot(name: str, dtype: torch.dtype, *, conjugate: bool = False) -> Operator:
    """`cublas?dot[uc]_v2`: the sum of x_i y_i, or of conj(x_i) y_i."""
    edges: list[dict[str, Any]] = [
        *_pair_edges(), {"n": 6, "incx": 0, "incy": 1}, {"n": 6, "incx": 2, "incy": 0},
        *({"n": 40, **_PAIR, "values": kind} for kind in buffers.EXTREMES),
    ]  # fmt: skip
    term = "conj(x_i)*y_i (x is conjugated, y is not)" if conjugate else "x_i*y_i"
    exact = (routine.IEEE,) if dtype in (torch.float32, torch.complex64) else ()
    return routine.declare(
        name, build=build_dot, oracle=conjugate_product if conjugate else product, touched=None, writes=("result",),
        compare=Close(depth=_terms, scale=scale_dot),
        grids=_grids(name, dtype, edges, _PAIR, QUICK_SUMS, incx=INCREMENTS, incy=INCREMENTS),
        jitter=routine.jitter("n", "incx", "incy", "layout", "values"),
        description=f"Writes the sum of {term} over n elements to the one-element tensor result.",
        notes=(routine.VECTORS, "incx = 0 or incy = 0: the one element is used for every term.",
               "n <= 0: the result is 0. result may hold NaN before.", *exact), family="dot",
    )  # fmt: skip


def asum(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?asum_v2`: the sum of |x_i|."""
    edges: list[dict[str, Any]] = [
        {"n": 6, "incx": 3}, {"n": 0, "incx": 2}, {"n": -1, "incx": 1}, {"n": 6, "incx": -1}, {"n": 6, "incx": 0},
        *({"n": 40, "incx": 1, "values": kind} for kind in buffers.EXTREMES),
    ]  # fmt: skip
    return routine.declare(
        name, build=build_asum, oracle=total, touched=None, writes=("result",),
        compare=Close(depth=_terms),
        grids=_grids(name, dtype, edges, {"incx": 1}, QUICK_SUMS, incx=(1, 2, 3)),
        jitter=routine.jitter("n", "layout", "values", incx=(1, 2, 3, 4, 5)),
        description="Writes the sum of |x_i| over n elements to the one-element tensor result.",
        notes=(routine.VECTORS, "n <= 0 or incx <= 0: the result is 0. result may hold NaN before."), family="dot",
    )  # fmt: skip
