"""The axes of the published tests, routine by routine, and which of their points the `paper` suite holds.

A published test with few, small points is taken whole. Where it has thousands (a product of seven axes) or large
matrices, a covering stands for it: every pair of values of two axes that occurs in the whole occurs in it, or every
single value where the matrices are large. Scalars are numbers, or pairs of real and imaginary part.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.grids import Grid, Params

WHOLE = 1200
"""Points up to which a published grid is taken whole."""
HEAVY = 4_000_000
"""Weight (about elements) from which a point counts as large."""
FEW = 6
"""Large points of one routine."""

_ONES = ((1, 1), (2, 2))
_NTNT = tuple(itertools.product("NT", repeat=2))
_NTC = tuple(itertools.product("NTC", repeat=2))
_FEW = ((1.0, 0.0), (0.5, 0.5), (-1.0, 1.0))
_SIX = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (-1.0, 1.0), (2.0, -0.5), (0.001, 0.999))
_SIX_COMPLEX = (
    (1.0, 0.0), (0.0, 1.0), ([1.0, 0.5], 0.0), ([0.5, 0.3], [0.5, -0.2]), (-1.0, 1.0), ([0.001, 0.001], [0.999, -0.999]),
)  # fmt: skip
_N = (1, 32, 71, 1024, 4096, 5333)
_SQUARE = tuple((n, n) for n in _N)
_ALPHA = (1.0, 0.0, -0.999, 0.5, 100.001)
_MANY_N = (1, 17, 32, 33, 71, 160, 497, 1024, 4113, 4096, 5333)
_EIGHT = (1.0, 0.0, 0.001, -0.999, 100.001, -111.999, 0.5, -0.5)
_GEMM_5 = ((1, 1, 1), (16, 16, 16), (64, 32, 48), (128, 256, 64), (17, 33, 65))
_GEMM_9 = (
    (1, 1, 1), (16, 16, 16), (32, 64, 16), (64, 32, 48), (128, 256, 64), (256, 128, 128), (17, 33, 65), (128, 128, 128),
    (256, 256, 256),
)  # fmt: skip
_GEMV_5 = ((16, 16), (64, 128), (128, 256), (256, 256), (17, 33))
_GEMV_9 = ((1, 1), (16, 16), (32, 64), (64, 32), (128, 64), (256, 128), (17, 33), (128, 128), (256, 256))
_GEMV_18 = (
    (1, 1), (1, 32), (32, 1), (16, 16), (32, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128), (256, 256),
    (17, 33), (33, 17), (71, 497), (497, 71), (1024, 4096), (4096, 1024), (5333, 5333),
)  # fmt: skip


def _gemm(
    sizes: Sequence[Any], scalars: Sequence[Any], ops: Sequence[Any] = _NTNT, batches: Any = ()
) -> dict[str, Any]:
    batch = {"batchCount": batches} if batches else {}
    return {**batch, "transa,transb": ops, "alpha,beta": scalars, "m,n,k": sizes}


def _gemv(sizes: Sequence[Any], scalars: Sequence[Any], batches: Any = ()) -> dict[str, Any]:
    return {**({"batchCount": batches} if batches else {}), "trans": "NT", "alpha,beta": scalars, "m,n": sizes}


_TRSM_BATCHED = {
    "side,uplo,trans,diag": ((0, 0, 0, 0),), "batchCount": (1, 2, 4), "alpha": (1.0, 0.5, -1.0), "n": (4, 16, 32),
    "m": (4, 16, 32, 64),
}  # fmt: skip

AXES: dict[str, dict[str, Any]] = {
    "Ccopy_v2": {"incy": (1, 2, 3), "incx": (1, 2, 3), "n": _MANY_N},
    "Dcopy_v2": {"incy": (1, 2, 3), "incx": (1, 2, 3), "n": (1, 32, 71, 497, 1024, 4096, 5333)},
    "Zswap_v2": {"incy": (1, 2), "incx": (1, 2, 3), "n": _N},
    "Sscal_v2": {"incx": (1, 2, 3), "alpha": _EIGHT, "n": (1, 32, 71, 160, 497, 1024, 4113, 4096, 5333)},
    "Saxpy_v2": {
        "incy": (1, 2, 3), "incx": (1, 2, 3), "alpha": _EIGHT, "n": (1, 32, 71, 160, 497, 1024, 4113, 4096, 5333),
    },
    "Daxpy_v2": {"incy": (1, 2), "incx": (1, 2, 3), "alpha": (1.0, 0.0, -0.5, 100.001), "n": _N},
    "Sdot_v2": {"incy": (1, 2, 3), "incx": (1, 2, 3), "n": _MANY_N},
    "Cdotu_v2": {"incy": (1, 2, 3), "incx": (1, 2, 3), "n": _MANY_N},
    "Zdotc_v2": {"incx,incy": _ONES, "n": _N},
    "Dasum_v2": {"incx": (1, 2, 3), "n": _N},
    "Cgemv_v2": {
        "incy": (1, 2), "incx": (1, 2), "beta": (1.0, 0.0), "alpha": (1.0, 0.0, [-0.5, 0.5]), "trans": "NTC",
        "n": (1, 16, 64, 128), "m": (1, 16, 64, 128),
    },
    "Dgemv_v2": _gemv(_GEMV_5, _FEW),
    "SgemvStridedBatched": _gemv(_GEMV_9, _SIX, (1, 2, 4, 8)),
    "DgemvStridedBatched": _gemv(_GEMV_9, _SIX, (1, 2, 4, 8)),
    "CgemvStridedBatched": _gemv(_GEMV_9, _SIX_COMPLEX, (1, 2, 4, 8)),
    "ZgemvStridedBatched": _gemv(_GEMV_9, _SIX_COMPLEX, (1, 2, 4, 8)),
    "SgemvBatched": {
        "incy": (1, 2, 3), "incx": (1, 2, 3),
        **_gemv(_GEMV_18, (
            (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (-1.0, 1.0), (1.0, 0.5), (0.001, 0.999), (-0.999, -1.0), (100.001, 0.0),
            (0.5, -0.5),
        ), (1, 2, 4, 8)),
    },
    "DgemvBatched": _gemv(_GEMV_5, _FEW, (1, 2, 4)),
    "ZgemvBatched": _gemv(_GEMV_5, _FEW, (1, 2, 4)),
    "CgemvBatched_64": _gemv(_GEMV_5, _FEW, (1, 2, 4)),
    "Sger_v2": {
        "incy": (1, 2, 3), "incx": (1, 2, 3), "alpha": (*_EIGHT, -1.0), "n": _MANY_N,
        "m": (1, 32, 71, 160, 497, 1024, 4096, 5333),
    },
    "Cgeru_v2": {"incx,incy": _ONES, "alpha": _ALPHA, "m,n": _SQUARE},
    "Zgerc_v2": {"incx,incy": _ONES, "alpha": _ALPHA, "m,n": _SQUARE},
    "Dsyr2_v2": {"uplo": (0,), "incx,incy": _ONES, "alpha": _ALPHA, "n": _N},
    "Csymv_v2": {"uplo": (0,), "incx,incy": _ONES, "alpha": _ALPHA, "beta": (0.5,), "n": _N},
    "Dsbmv_v2": {"uplo": (1,), "k": (2,), "incx,incy": _ONES, "alpha": _ALPHA, "beta": (-0.75,), "n": _N},
    "Stbmv_v2": {"k": (0, 2), "diag": (0, 1), "trans": (0, 1), "uplo": (0, 1), "incx": (1, 2), "n": _N},
    "Strsv_v2": {"diag": (0, 1), "trans": (0, 1), "uplo": (0, 1), "incx": (1, 2), "n": _N},
    "Sgemm_v2": _gemm((*_GEMM_9, (71, 71, 71), (33, 71, 497)), (*_SIX, (-0.999, 0.5), (100.001, -1.0))),
    "Cgemm_v2": _gemm(
        (
            (1, 1, 1), (16, 16, 16), (32, 32, 32), (32, 64, 16), (64, 32, 48), (128, 256, 64), (256, 128, 128),
            (17, 33, 65), (71, 497, 33), (128, 128, 128), (256, 256, 256), (1024, 1024, 256), (4096, 1024, 64),
            (1024, 4096, 32), (5333, 5333, 71), (5333, 71, 33), (71, 5333, 17),
        ),
        (
            *_SIX, (-0.999, 1.0), (100.001, -0.999), ([0.5, 0.3], [0.5, -0.2]), ([0.001, 0.001], 0.0),
            (1.0, [0.001, 0.001]),
        ),
        _NTC,
    ),
    "SgemmEx": {"types": ("float32,float32",), **_gemm(_GEMM_9, _FEW)},
    "SgemmStridedBatched": _gemm(_GEMM_9, _SIX, batches=(1, 2, 4, 8)),
    "DgemmStridedBatched": _gemm(_GEMM_9, _SIX, batches=(1, 2, 4, 8)),
    "DgemmStridedBatched_64": _gemm(_GEMM_5, _FEW, batches=(1, 2, 4)),
    "CgemmStridedBatched": _gemm(_GEMM_5, _FEW, batches=(2, 4)),
    "CgemmStridedBatched_64": _gemm(_GEMM_5, _FEW, batches=(2, 4)),
    "ZgemmStridedBatched": _gemm(_GEMM_9[:-1], _SIX_COMPLEX, batches=(1, 2, 4, 8)),
    "HgemmStridedBatched": _gemm(_GEMM_9, _SIX, batches=(1, 2, 4, 8)),
    "SgemmBatched_64": _gemm(_GEMM_5, _FEW, batches=(1, 2, 4)),
    "DgemmBatched": _gemm(_GEMM_5, _FEW, batches=(1, 2, 4)),
    "ZgemmBatched": _gemm(_GEMM_5, _FEW, batches=(1, 2, 4)),
    "HgemmBatched": _gemm(_GEMM_5, _FEW, batches=(1, 2, 4)),
    "Sgeam": {
        "transa,transb": tuple(itertools.product((0, 1), repeat=2)), "alpha,beta": _FEW, "n": (1, 71, 1024),
        "m": (1, 32, 1024),
    },
    "Sdgmm": {"mode": (0,), "incx": (1, 2, 3), "m,n": _SQUARE},
    "Csymm_v2": {
        "side": (0, 1), "uplo": (1,), "beta": (0.0, 0.5), "alpha": (1.0, 0.0, -1.0),
        "m,n": tuple((n, n) for n in (1, 32, 64, 128, 160)),
    },
    "Ssyrk_v2": {"uplo": (0,), "trans": (0, 1), "alpha": _ALPHA, "beta": (0.25,), "n,k": tuple((n, n // 2) for n in _N)},
    "CsyrkEx": {
        "typed": (True,),
        "beta": (0.0, 1.0, [0.5, -0.25], -1.0, [0.001, 0.001]),
        "alpha": (1.0, 0.0, [0.5, 0.3], [0.001, 0.001], -0.999, 100.001, -1.0), "trans": (0, 1), "uplo": (0, 1),
        "k": (1, 17, 33, 71, 160, 497), "n": (1, 17, 32, 33, 71, 160, 497, 1024, 4096, 4113, 5333),
    },
    "Strsm_v2": {
        "side": (0,), "diag": (0, 1), "uplo": (0, 1), "trans": (0, 1), "alpha": (1.0,), "n": (1, 8, 16),
        "m": (1, 16, 48, 64),
    },
    "DtrsmBatched": _TRSM_BATCHED,
    "ZtrsmBatched": _TRSM_BATCHED,
}  # fmt: skip
"""By routine, without `cublas`. The flags that a test fixes stand as axes of one value; `CsyrkEx` is tested there with
the operation C as well, which syrk of complex data does not have."""


def paper(
    name: str, dtype: torch.dtype, *, weight: Callable[[Params], float], timed: Callable[[Params], bool]
) -> tuple[Grid, Grid]:
    """The published points of a routine: those that are timed, and the others.

    Args:
        name: of the routine.
        dtype: of the routine, in every point.
        weight: how large a point is, in elements.
        timed: whether the published test times a point.
    """
    axes: dict[str, Any] = {"dtype": (dtype,), **AXES[name.removeprefix("cublas")]}
    points = grids.product(**axes).points
    light = [p for p in points if weight(p) < HEAVY]
    heavy = [p for p in points if weight(p) >= HEAVY]
    chosen = light if len(light) <= WHOLE else cover(light, 2, WHOLE // 2)
    chosen = [*chosen, *cover(heavy, 1, FEW)]
    return (
        Grid(tuple(p for p in chosen if timed(p)), timed=True),
        Grid(tuple(p for p in chosen if not timed(p))),
    )


def cover(points: Sequence[Params], order: int, limit: int) -> list[Params]:
    """At most `limit` of the points, drawn by a fixed seed: first those that bring a combination of `order` values of
    different parameters not seen before, then any."""
    left = list(points)
    random.Random(0).shuffle(left)
    seen: set[Any] = set()
    chosen: list[Params] = []
    others: list[Params] = []
    for point in left:
        new = set(_combinations(point, order)) - seen
        (chosen if new else others).append(point)
        seen |= new
    return (chosen + others)[:limit]


def _combinations(point: Params, order: int) -> Iterator[tuple[tuple[str, str], ...]]:
    return itertools.combinations([(k, str(v)) for k, v in sorted(point.items())], order)
