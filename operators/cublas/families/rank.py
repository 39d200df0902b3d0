"""Outer products added to a matrix: `ger` (plain and conjugated) and `syr2` of every type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import buffers, published, routine
from kgb_gym.operators.cublas.families.routine import INCREMENTS
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker

QUICK = ((1, 1), (1, 40), (33, 1), (17, 33), (70, 21))
QUICK_ORDERS = (1, 2, 17, 40)
EXTRA = ((1, 33), (33, 1), (17, 33), (71, 497), (497, 71), (1024, 1041), (5333, 33), (33, 5333))
EXTRA_ORDERS = (1, 17, 33, 71, 497, 1041)
REAL = (1.0, -0.999, 100.001, 0.001)
COMPLEX = (1.0, [0.5, 0.3], [0.0, 1.0], -0.999)


def build(
    make: Maker, *, m: int, n: int, alpha: Any, dtype: torch.dtype, incx: int = 1, incy: int = 1, pad: int = 0,
    values: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `ger` call; `pad`: by how much the leading dimension exceeds the rows."""
    lda = max(1, m) + pad
    x = buffers.vector(make, m, incx, dtype, kind=values, layout=layout)
    y = buffers.vector(make, n, incy, dtype, kind=values, layout=layout)
    a = buffers.matrix(make, m, n, lda, dtype, guard="kept", layout=layout)
    return make.call(m, n, buffers.scalar(alpha, dtype), x, incx, y, incy, a, lda)


def build_syr2(make: Maker, *, uplo: int, n: int, **params: Any) -> Call:
    """One `syr2` call."""
    call = build(make, m=n, n=n, **params)
    return make.call(uplo, *call.args[1:])


def oracle(
    m: int, n: int, alpha: Any, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, A: torch.Tensor, lda: int,
    conjugate: bool = False,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """A after `ger`."""
    wide = buffers.wide(A.dtype)
    answer = A.to(wide).clone()
    left, right = x.to(wide)[buffers.positions(m, incx)], y.to(wide)[buffers.positions(n, incy)]
    right = right.conj() if conjugate else right
    buffers.columns(answer, m, n, lda).add_(buffers.seen(alpha, A.dtype) * left[:, None] * right[None, :])
    return {"A": answer}


def oracle_conjugate(**arguments: Any) -> dict[str, torch.Tensor]:
    """A after `gerc`."""
    return oracle(**arguments, conjugate=True)


def oracle_syr2(uplo: int, n: int, A: torch.Tensor, lda: int, **arguments: Any) -> dict[str, torch.Tensor]:
    """A after `syr2`."""
    x, incx, y, incy = (arguments[k] for k in ("x", "incx", "y", "incy"))
    full = oracle(n, n, arguments["alpha"], x, incx, y, incy, A, lda)["A"]
    full = oracle(n, n, arguments["alpha"], y, incy, x, incx, full, lda)["A"]
    return {"A": torch.where(touched_syr2(uplo, n, A, lda)["A"], full, A.to(full.dtype))}


def touched(m: int, n: int, A: torch.Tensor, lda: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the m x n elements."""
    mask = torch.zeros(A.shape, dtype=torch.bool)
    buffers.columns(mask, m, n, lda).fill_(True)
    return {"A": mask}


def touched_syr2(uplo: int, n: int, A: torch.Tensor, lda: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the elements of one triangle."""
    mask = torch.zeros(A.shape, dtype=torch.bool)
    buffers.columns(mask, n, n, lda).copy_(buffers.in_triangle(n, uplo))
    return {"A": mask}


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |x| |y| + |A|."""
    sizes = buffers.magnitudes(arguments)
    return (oracle_syr2 if "uplo" in sizes else oracle)(**sizes)["A"]


COMPARE = Close(scale=scale, slack=2.0)
_GUARD = (
    "A is the only argument that is written: a column-major matrix in a one-dimensional buffer, element (i, j) at index "
    "i + j*lda. What lies between its columns and behind them must keep its bits."
)


def ger(name: str, dtype: torch.dtype, *, conjugate: bool = False) -> Operator:
    """`cublas?ger[uc]_v2`: A <- alpha x y^T + A, or with the conjugate of y."""
    term = "alpha*x*y^H + A (y is conjugated, x is not)" if conjugate else "alpha*x*y^T + A (nothing is conjugated)"
    edges = [{"m,n": (0, 5), "alpha": 1.0}, {"m,n": (5, 0), "alpha": 1.0}, {"m,n": (9, 5), "alpha": 0.0, "pad": 2}]
    return routine.declare(
        name, build=build, oracle=oracle_conjugate if conjugate else oracle, touched=touched, writes=("A",),
        grids=_grids(name, dtype, edges, {"m,n": QUICK}, {"m,n": EXTRA}, {"m,n": (4096, 4096)}),
        jitter=routine.jitter("m", "n", "alpha", "incx", "incy", "pad", "layout", "values"), compare=COMPARE,
        description=f"Rank-one update A <- {term if dtype.is_complex else 'alpha*x*y^T + A'}, A being m x n.",
        notes=(routine.VECTORS, _GUARD, "m = 0, n = 0 or alpha = 0: A does not change."), family="rank",
    )  # fmt: skip


def syr2(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?syr2_v2`: A <- alpha (x y^T + y x^T) + A in one triangle."""
    edges = [{"n": 0, "alpha": 1.0, "uplo": 1}, {"n": 9, "alpha": 0.0, "pad": 2, "uplo": 0}]
    return routine.declare(
        name, build=build_syr2, oracle=oracle_syr2, touched=touched_syr2, writes=("A",),
        grids=_grids(name, dtype, edges, {"n": QUICK_ORDERS}, {"n": EXTRA_ORDERS}, {"n": 4096}, uplo=(0, 1)),
        jitter=routine.jitter("n", "alpha", "uplo", "incx", "incy", "pad", "layout", "values"),
        compare=Close(depth=lambda arguments: 2, scale=scale, slack=2.0),
        description="Symmetric rank-two update A <- alpha*(x*y^T + y*x^T) + A of one triangle of A, which is n x n.",
        notes=(routine.VECTORS, _GUARD, routine.TRIANGLES, "The other triangle must keep its bits.",
               "n = 0 or alpha = 0: A does not change."), family="rank",
    )  # fmt: skip


def _grids(
    name: str, dtype: torch.dtype, edges: list[dict[str, Any]], quick: dict[str, Any], extra: dict[str, Any],
    large: dict[str, Any], **more: Any,
) -> dict[str, tuple[Grid, ...]]:  # fmt: skip
    kind = grids.plain_value(dtype)
    axes: dict[str, Any] = {
        **more, "alpha": COMPLEX if dtype.is_complex else REAL, "incx": INCREMENTS, "incy": INCREMENTS, "pad": (0, 3),
        "values": ("normal", "trap"), "layout": buffers.LAYOUTS, "dtype": (kind,),
    }  # fmt: skip
    base = {"dtype": kind, "incx": 2, "incy": -3, "alpha": axes["alpha"][1], **{k: v[0] for k, v in more.items()}}
    sizes = next(iter(quick.items()))
    extremes = [{sizes[0]: sizes[1][-2], "pad": 1, "values": kind} for kind in buffers.EXTREMES]
    points = grids.points(*({**base, **edge} for edge in (*edges, *extremes)))
    plain = {**base, "incx": 1, "incy": 1}
    smoke = grids.points({**base, "pad": 1, sizes[0]: sizes[1][-2]}, {**plain, sizes[0]: sizes[1][-1]}, origin="paper")
    return {
        "paper": (
            *published.paper(
                name, dtype, weight=lambda p: p.get("m", p["n"]) * p["n"], timed=lambda p: p["n"] >= 1024
            ),
            grids.points({**plain, **large}, origin="extra", timed=True),
            grids.pairwise(origin="extra", **{**axes, **extra}), points,
        ),
        "quick": (grids.pairwise(**{**axes, **quick}), points),
        "smoke": (smoke,),
    }  # fmt: skip
