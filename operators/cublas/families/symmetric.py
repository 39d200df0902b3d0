"""Products with a symmetric matrix of which one triangle is stored: `symv`, `symm` and `sbmv` of every type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import bands, buffers, published, routine
from kgb_gym.operators.cublas.families.routine import INCREMENTS
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker

REAL = ((1.0, 0.0), (-0.999, 1.0), (100.001, -0.5), (0.001, 0.25))
COMPLEX = ((1.0, 0.0), ([0.5, 0.3], [0.5, -0.2]), ([0.0, 1.0], 1.0), (-0.999, [0.0, -0.25]))
NAN = float("nan")


def _half(make: Maker, n: int, uplo: int, lda: int, dtype: torch.dtype, values: str, layout: str) -> torch.Tensor:
    """One stored triangle, the other one NaN."""
    a = buffers.matrix(make, n, n, lda, dtype, kind=values, layout=layout)
    buffers.hide(buffers.columns(a, n, n, lda), uplo, NAN)
    return a


def _result(
    make: Maker, n: int, inc: int, beta: Any, dtype: torch.dtype, output: str, layout: str
) -> torch.Tensor:  # fmt: skip
    kind = output if buffers.scalar(beta, dtype) else "nan"
    return buffers.vector(make, n, inc, dtype, kind=kind, guard="kept", layout=layout)


def build_symv(
    make: Maker, *, uplo: int, n: int, alpha: Any, beta: Any, dtype: torch.dtype, incx: int = 1, incy: int = 1,
    pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `symv` call; `output` of y before the call: `normal` or `nan`, always NaN where beta = 0."""
    lda = max(1, n) + pad
    a = _half(make, n, uplo, lda, dtype, values, layout)
    x = buffers.vector(make, n, incx, dtype, kind=values, layout=layout)
    y = _result(make, n, incy, beta, dtype, output, layout)
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(uplo, n, one, a, lda, x, incx, two, y, incy)


def build_sbmv(
    make: Maker, *, uplo: int, n: int, k: int, alpha: Any, beta: Any, dtype: torch.dtype, incx: int = 1, incy: int = 1,
    pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `sbmv` call."""
    a, lda = bands.stored(make, n, k, uplo, pad, dtype, values, layout)
    x = buffers.vector(make, n, incx, dtype, kind=values, layout=layout)
    y = _result(make, n, incy, beta, dtype, output, layout)
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(uplo, n, k, one, a, lda, x, incx, two, y, incy)


def build_symm(
    make: Maker, *, side: int, uplo: int, m: int, n: int, alpha: Any, beta: Any, dtype: torch.dtype, pad: int = 0,
    values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `symm` call."""
    order, ldb, ldc = n if side else m, max(1, m) + 2 * pad, max(1, m) + pad
    lda = max(1, order) + pad
    a = _half(make, order, uplo, lda, dtype, values, layout)
    b = buffers.matrix(make, m, n, ldb, dtype, kind=values, layout=layout)
    kind = output if buffers.scalar(beta, dtype) else "nan"
    c = buffers.matrix(make, m, n, ldc, dtype, kind=kind, guard="kept", layout=layout)
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(side, uplo, m, n, one, a, lda, b, ldb, two, c, ldc)


def _combined(
    alpha: Any, product: torch.Tensor | None, beta: Any, old: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """alpha product + beta old, where a factor of 0 leaves its operand unread."""
    two = buffers.seen(beta, dtype)
    new = old * two if two != 0 else torch.zeros_like(old)
    return new if product is None else new + buffers.seen(alpha, dtype) * product


def oracle_symv(
    uplo: int, n: int, alpha: Any, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int, beta: Any, y: torch.Tensor,
    incy: int,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """y after `symv`."""
    answer = y.to(buffers.wide(y.dtype)).clone()
    where = buffers.positions(n, incy)
    product = None
    if alpha != 0:
        full = buffers.symmetric(buffers.columns(A, n, n, lda).to(answer.dtype), uplo)
        product = full @ x.to(answer.dtype)[buffers.positions(n, incx)]
    answer[where] = _combined(alpha, product, beta, answer[where], y.dtype)
    return {"y": answer}


def oracle_sbmv(
    uplo: int, n: int, k: int, alpha: Any, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int, beta: Any,
    y: torch.Tensor, incy: int,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """y after `sbmv`."""
    answer = y.to(buffers.wide(y.dtype)).clone()
    where = buffers.positions(n, incy)
    product = None
    if alpha != 0:
        given = x.to(answer.dtype)[buffers.positions(n, incx)]
        wide = A.to(answer.dtype)
        product = bands.times(wide, lda, n, k, uplo, given)
        product += bands.times(wide, lda, n, k, uplo, given, transposed=True, diagonal=False)
    answer[where] = _combined(alpha, product, beta, answer[where], y.dtype)
    return {"y": answer}


def oracle_symm(
    side: int, uplo: int, m: int, n: int, alpha: Any, A: torch.Tensor, lda: int, B: torch.Tensor, ldb: int, beta: Any,
    C: torch.Tensor, ldc: int,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """C after `symm`."""
    answer = C.to(buffers.wide(C.dtype)).clone()
    if m <= 0 or n <= 0:
        return {"C": answer}
    part = buffers.columns(answer, m, n, ldc)
    product = None
    if alpha != 0:
        order = n if side else m
        full = buffers.symmetric(buffers.columns(A, order, order, lda).to(answer.dtype), uplo)
        other = buffers.columns(B, m, n, ldb).to(answer.dtype)
        product = other @ full if side else full @ other
    part.copy_(_combined(alpha, product, beta, part.clone(), C.dtype))
    return {"C": answer}


def touched_vector(n: int, y: torch.Tensor, incy: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the elements of y."""
    mask = torch.zeros(y.shape, dtype=torch.bool)
    mask[buffers.positions(n, incy)] = True
    return {"y": mask}


def touched_matrix(m: int, n: int, C: torch.Tensor, ldc: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the m x n elements of C."""
    mask = torch.zeros(C.shape, dtype=torch.bool)
    if m > 0:
        buffers.columns(mask, m, n, ldc).fill_(True)
    return {"C": mask}


def _scale_symv(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_symv(**buffers.magnitudes(arguments))["y"]


def _scale_sbmv(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_sbmv(**buffers.magnitudes(arguments))["y"]


def _scale_symm(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_symm(**buffers.magnitudes(arguments))["C"]


_UNREAD = "The other triangle is not read, it may hold NaN."
_ZERO = "beta = 0: {0} is not read, it may hold NaN. alpha = 0: {0} becomes beta*{0}, {1} being finite. "


def symv(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?symv_v2`: y <- alpha A x + beta y."""
    return routine.declare(
        name, build=build_symv, oracle=oracle_symv, touched=touched_vector, writes=("y",),
        grids=_grids(
            name, dtype, {"n": (1, 2, 17, 40, 70)}, {"n": (1, 17, 33, 71, 497, 1041)}, {"n": 4096},
            uplo=(0, 1), incx=INCREMENTS, incy=INCREMENTS,
        ),
        jitter=routine.jitter("n", "alpha", "beta", "uplo", "incx", "incy", "pad", "layout", "values"),
        compare=Close(depth=lambda arguments: int(arguments["n"]), scale=_scale_symv),
        description="Symmetric matrix times vector y <- alpha*A*x + beta*y. A is n x n, and one triangle of it is stored.",
        notes=(routine.COLUMNS, routine.VECTORS, f"{routine.TRIANGLES} {_UNREAD}", *_complex(dtype),
               _ZERO.format("y", "A and x") + "n = 0: nothing is written."), family="symmetric",
    )  # fmt: skip


def symm(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?symm_v2`: C <- alpha A B + beta C, or with A to the right."""
    return routine.declare(
        name, build=build_symm, oracle=oracle_symm, touched=touched_matrix, writes=("C",),
        grids=_grids(
            name, dtype, {"m,n": ((1, 1), (5, 33), (33, 5), (17, 20), (40, 24))},
            {"m,n": ((1, 1), (17, 33), (71, 33), (33, 497), (1041, 71))}, {"m,n": (2048, 2048)},
            side=(0, 1), uplo=(0, 1),
        ),
        jitter=routine.jitter("m", "n", "alpha", "beta", "side", "uplo", "pad", "layout", "values"),
        compare=Close(depth=lambda a: int(a["n"] if a["side"] else a["m"]), scale=_scale_symm),
        description=(
            "Product with a symmetric matrix: C <- alpha*A*B + beta*C for side = 0 (A is m x m), C <- alpha*B*A + beta*C "
            "for side = 1 (A is n x n). B and C are m x n, and one triangle of A is stored."
        ),
        notes=(routine.COLUMNS, f"{routine.TRIANGLES} {_UNREAD}", *_complex(dtype),
               _ZERO.format("C", "A and B") + "m = 0 or n = 0: nothing is written."), family="symmetric",
    )  # fmt: skip


def sbmv(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?sbmv_v2`: y <- alpha A x + beta y for a band matrix."""
    return routine.declare(
        name, build=build_sbmv, oracle=oracle_sbmv, touched=touched_vector, writes=("y",),
        grids=_grids(
            name, dtype, {"n,k": ((1, 0), (1, 3), (17, 2), (33, 7), (20, 19), (9, 30), (300, 1))},
            {"n,k": ((1, 2), (17, 0), (33, 1), (71, 2), (497, 7), (71, 70), (33, 40), (5333, 7), (5333, 129))},
            {"n,k": (65536, 64)}, uplo=(0, 1), incx=(1, 2, -1, -2), incy=(1, 3, -1, -2),
        ),
        jitter=routine.jitter("n", "k", "alpha", "beta", "uplo", "incx", "incy", "pad", "layout", "values"),
        compare=Close(depth=lambda a: max(1, min(int(a["n"]), 2 * int(a["k"]) + 1)), scale=_scale_sbmv),
        description=(
            "Symmetric band matrix times vector y <- alpha*A*x + beta*y. A is n x n with k diagonals on either side of the "
            "main one; the main diagonal and those on one side are stored."
        ),
        notes=(bands.LAYOUT, routine.VECTORS, routine.TRIANGLES,
               _ZERO.format("y", "A and x") + "n = 0: nothing is written. k may exceed n."), family="band",
    )  # fmt: skip


def _complex(dtype: torch.dtype) -> tuple[str, ...]:
    if not dtype.is_complex:
        return ()
    return ("A is symmetric, not Hermitian: nothing is conjugated.", routine.IEEE)


def _grids(
    name: str, dtype: torch.dtype, quick: dict[str, Any], extra: dict[str, Any], large: dict[str, Any], **more: Any
) -> dict[str, tuple[Grid, ...]]:  # fmt: skip
    kind, scalars = grids.plain_value(dtype), COMPLEX if dtype.is_complex else REAL
    axes: dict[str, Any] = {
        **more, "alpha,beta": scalars, "pad": (0, 3), "values": ("normal", "trap"), "layout": buffers.LAYOUTS,
        "dtype": (kind,),
    }  # fmt: skip
    ((sizes, values),) = quick.items()
    base = {"dtype": kind, "pad": 2, **{k: v[-1] for k, v in more.items()}}
    nothing = tuple(0 if i == 0 else 3 for i in range(len(values[0]))) if isinstance(values[0], tuple) else 0
    further: tuple[dict[str, Any], ...] = (
        {"alpha,beta": (0.0, 0.5)}, {"alpha,beta": (0.0, 0.0)}, {"alpha,beta": (-0.5, 1.0), "output": "nan"},
        *({"alpha,beta": (-0.5, 0.0), "values": extreme} for extreme in buffers.EXTREMES),
    )  # fmt: skip
    edges = grids.points(
        {**base, sizes: nothing, "alpha,beta": scalars[1]},
        *({**base, sizes: values[2], **edge} for edge in further),
    )
    smoke = grids.points(
        {**base, sizes: values[2], "alpha,beta": scalars[1], "values": "trap"},
        {"dtype": kind, **{k: v[0] for k, v in more.items()}, sizes: values[3], "alpha,beta": scalars[0]},
        origin="paper",
    )  # fmt: skip
    big = {"dtype": kind, **{k: v[0] for k, v in more.items()}, **large, "alpha,beta": scalars[0]}
    limit = 128 if "side" in more else 1024
    return {
        "paper": (
            *published.paper(
                name, dtype, weight=lambda p: p["n"] * (3 if "k" in p else p["n"]), timed=lambda p: p["n"] >= limit
            ),
            grids.points(big, origin="extra", timed=True),
            grids.pairwise(origin="extra", **{**axes, **extra}), edges,
        ),
        "quick": (grids.pairwise(**{**axes, **quick}), edges),
        "smoke": (smoke,),
    }  # fmt: skip
