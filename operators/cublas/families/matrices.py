"""Matrix to matrix, element by element or in one triangle: `geam`, `dgmm`, `syrk` and `CsyrkEx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import buffers, gemm, published, routine
from kgb_gym.operators.cublas.families.gemm_ex import DATA_TYPES
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.policy import CONVERTED_INPUTS

SIZES = ((1, 1), (17, 33), (71, 497), (1041, 1024))
QUICK = ((1, 1), (5, 33), (40, 3), (35, 40))
SYRK_QUICK = ((1, 1), (5, 33), (40, 3), (35, 40))
SYRK_EXTRA = ((1, 1), (17, 33), (71, 497), (497, 71), (1041, 33))
REAL = ((1.0, 0.0), (-0.999, 1.0), (100.001, -0.5), (0.001, 0.25))
PLACES = ("apart", "A", "B")
"""Where C lies: in memory of its own, or in the place of an operand that is not transposed."""


def build_geam(
    make: Maker, *, transa: int, transb: int, m: int, n: int, alpha: Any, beta: Any, dtype: torch.dtype, pad: int = 0,
    values: str = "normal", layout: str = "contiguous", place: str = "apart", hidden: str = "",
) -> Call:  # fmt: skip
    """One `geam` call. `place` puts C into A or B, where the op of that is none; an operand named in `hidden` is NaN."""
    ldc = max(1, m) + pad
    made = {}
    for name, op in (("A", transa), ("B", transb)):
        rows, cols = buffers.stored(op, m, n)
        inside = place == name and op == 0
        ld = ldc if inside else max(1, rows) + 2 * pad
        guard = "kept" if inside else "nan"
        kind = "nan" if name in hidden else values
        made[name] = buffers.matrix(make, rows, cols, ld, dtype, kind=kind, guard=guard, layout=layout), ld
    c = buffers.matrix(make, m, n, ldc, dtype, kind="nan", guard="kept", layout=layout)
    if place == "A" and transa == 0:
        c = made["A"][0]
    if place == "B" and transb == 0:
        c = made["B"][0]
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(transa, transb, m, n, one, *made["A"], two, *made["B"], c, ldc)


def oracle_geam(
    transa: int, transb: int, m: int, n: int, alpha: Any, A: torch.Tensor, lda: int, beta: Any, B: torch.Tensor,
    ldb: int, C: torch.Tensor, ldc: int,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """C after `geam`."""
    answer = C.to(buffers.wide(C.dtype)).clone()
    new = torch.zeros(m, n, dtype=answer.dtype)
    for factor, buffer, ld, op in ((alpha, A, lda, transa), (beta, B, ldb, transb)):
        seen = buffers.seen(factor, C.dtype)
        if seen != 0:
            new = new + seen * buffers.transposed(
                buffers.columns(buffer, *buffers.stored(op, m, n), ld).to(answer.dtype), op
            )  # fmt: skip
    buffers.columns(answer, m, n, ldc).copy_(new)
    return {"C": answer}


def build_dgmm(
    make: Maker, *, mode: int, m: int, n: int, incx: int, dtype: torch.dtype, pad: int = 0, values: str = "normal",
    layout: str = "contiguous", place: str = "apart",
) -> Call:  # fmt: skip
    """One `dgmm` call; `place` may put C into A."""
    ldc = max(1, m) + pad
    lda = ldc if place == "A" else max(1, m) + 2 * pad
    guard = "kept" if place == "A" else "nan"
    a = buffers.matrix(make, m, n, lda, dtype, kind=values, guard=guard, layout=layout)
    x = buffers.vector(make, n if mode else m, incx, dtype, kind=values, layout=layout)
    c = buffers.matrix(make, m, n, ldc, dtype, kind="nan", guard="kept", layout=layout)
    return make.call(mode, m, n, a, lda, x, incx, a if place == "A" else c, ldc)


def oracle_dgmm(
    mode: int, m: int, n: int, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int, C: torch.Tensor, ldc: int
) -> dict[str, torch.Tensor]:
    """C after `dgmm`."""
    answer = C.to(buffers.wide(C.dtype)).clone()
    diagonal = x.to(answer.dtype)[buffers.positions(n if mode else m, incx)]
    product = buffers.columns(A, m, n, lda).to(answer.dtype) * (diagonal[None, :] if mode else diagonal[:, None])
    buffers.columns(answer, m, n, ldc).copy_(product)
    return {"C": answer}


def touched(m: int, n: int, C: torch.Tensor, ldc: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the m x n elements of C."""
    mask = torch.zeros(C.shape, dtype=torch.bool)
    buffers.columns(mask, m, n, ldc).fill_(True)
    return {"C": mask}


def build_syrk(
    make: Maker, *, uplo: int, trans: int, n: int, k: int, alpha: Any, beta: Any, dtype: torch.dtype, pad: int = 0,
    values: str = "normal", output: str = "normal", layout: str = "contiguous", typed: bool = False,
) -> Call:  # fmt: skip
    """One `syrk` (or, `typed`, `syrkEx`) call; NaN in the triangle of C that is written where beta = 0."""
    rows, cols = buffers.stored(trans, n, k)
    lda, ldc = max(1, rows) + pad, max(1, n) + pad
    a = buffers.matrix(make, rows, cols, lda, dtype, kind=values, layout=layout)
    c = buffers.matrix(make, n, n, ldc, dtype, guard="kept", layout=layout)
    if output == "nan" or not buffers.scalar(beta, dtype):
        buffers.columns(c, n, n, ldc).masked_fill_(buffers.in_triangle(n, uplo), float("nan"))
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    if typed:
        return make.call(uplo, trans, n, k, one, a, DATA_TYPES["complex64"], lda, two, c, DATA_TYPES["complex64"], ldc)
    return make.call(uplo, trans, n, k, one, a, lda, two, c, ldc)


def oracle_syrk(
    uplo: int, trans: int, n: int, k: int, alpha: Any, A: torch.Tensor, lda: int, beta: Any, C: torch.Tensor, ldc: int,
    Atype: int = 0, Ctype: int = 0, magnitude: bool = False,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """C after `syrk`; with `magnitude` of absolute values."""
    answer = C.to(buffers.wide(C.dtype)).clone()
    one, two = buffers.seen(alpha, C.dtype), buffers.seen(beta, C.dtype)
    wide = A.to(answer.dtype)
    if magnitude:
        answer, wide, one, two = answer.abs(), wide.abs(), abs(one), abs(two)
    if n <= 0:
        return {"C": answer}
    part = buffers.columns(answer, n, n, ldc)
    new = part * two if two != 0 else torch.zeros_like(part)
    if one != 0 and k > 0:
        stored = buffers.columns(wide, *buffers.stored(trans, n, k), lda)
        op = buffers.transposed(stored, trans)
        new = new + one * (op @ op.mT)
    part.copy_(torch.where(buffers.in_triangle(n, uplo), new, part))
    return {"C": answer}


def touched_syrk(uplo: int, n: int, C: torch.Tensor, ldc: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the elements of one triangle of C."""
    mask = torch.zeros(C.shape, dtype=torch.bool)
    buffers.columns(mask, n, n, ldc).copy_(buffers.in_triangle(n, uplo))
    return {"C": mask}


def _scale_geam(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_geam(**buffers.magnitudes(arguments))["C"]


def _scale_dgmm(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_dgmm(**buffers.magnitudes(arguments))["C"]


def _scale_syrk(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_syrk(**buffers.passed(arguments), magnitude=True)["C"]


_NOTHING = "m = 0 or n = 0: nothing is written."
_UPDATE = (
    "beta = 0: C is not read, it may hold NaN. alpha = 0 (A being finite) or k = 0: the triangle becomes beta*C. n = 0: "
    "nothing is written. The other triangle of C must keep its bits."
)


_EX_TYPES = "Atype and Ctype are numbers of cudaDataType; here always 4, which is complex64."


def geam(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?geam`: C <- alpha op(A) + beta op(B)."""
    axes = {"transa": (0, 1, 2), "transb": (0, 1, 2), "alpha,beta": REAL, "place": PLACES}
    edge = {"m,n": (9, 6), "transa": 1, "transb": 0, "pad": 2, "alpha,beta": (0.5, -2.0)}
    edges = [
        {**edge, "m,n": (0, 3)}, {**edge, "alpha,beta": (0.0, 0.5), "hidden": "A"},
        {**edge, "alpha,beta": (0.5, 0.0), "hidden": "B"}, {**edge, "alpha,beta": (0.0, 0.0), "hidden": "AB"},
        {**edge, "transb": 1, "transa": 0, "alpha,beta": (0.5, 0.0), "hidden": "B", "place": "A"},
        *({**edge, "values": kind} for kind in buffers.EXTREMES),
    ]  # fmt: skip
    return routine.declare(
        name, build=build_geam, oracle=oracle_geam, touched=touched, writes=("C",),
        grids=_grids(
            name, dtype, edges, {"m,n": QUICK}, {"m,n": SIZES}, {"m,n": (4096, 4096), "transa": 1, "transb": 0},
            timed=lambda p: p["m"] >= 128 and p["n"] >= 128, weight=lambda p: p["m"] * p["n"], **axes,
        ),
        jitter=routine.jitter(
            "m", "n", "alpha", "beta", "pad", "layout", "values", transa=(0, 1, 2), transb=(0, 1, 2), place=PLACES, hidden=("",)
        ),
        compare=Close(depth=lambda arguments: 2, scale=_scale_geam, slack=2.0),
        policy=CONVERTED_INPUTS,  # with the factors 1 and 0 a copy would be the answer
        description="Sum of matrices C <- alpha*op(A) + beta*op(B). C is m x n.",
        notes=(routine.COLUMNS, routine.OPERATIONS.replace("trans is", "transa and transb are"),
               "C may be the same tensor as A or B where that is not transposed and has the leading dimension ldc.",
               "alpha = 0: A is not read; beta = 0: B is not read; both: C becomes 0. C is never read.", _NOTHING),
        family="elementwise",
    )  # fmt: skip


def dgmm(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?dgmm`: C <- diag(x) A, or A diag(x)."""
    edge = {"m,n": (9, 6), "mode": 1, "pad": 2, "incx": 1}
    edges = [{**edge, "m,n": (0, 3)}, {**edge, "incx": 0}, {**edge, "mode": 0, "incx": 12},
             *({**edge, "values": kind} for kind in buffers.EXTREMES)]  # fmt: skip
    return routine.declare(
        name, build=build_dgmm, oracle=oracle_dgmm, touched=touched, writes=("C",),
        grids=_grids(
            name, dtype, edges, {"m,n": QUICK}, {"m,n": SIZES}, {"m,n": (4096, 4096)},
            timed=lambda p: p["n"] >= 1024, weight=lambda p: p["m"] * p["n"], mode=(0, 1), incx=routine.INCREMENTS,
            place=PLACES[:2],
        ),
        jitter=routine.jitter("m", "n", "mode", "incx", "pad", "layout", "values", place=PLACES[:2]),
        compare=Close(scale=_scale_dgmm, slack=2.0),
        description=(
            "Product with a diagonal matrix: C <- diag(x)*A for mode = 0 (x has m elements), C <- A*diag(x) for mode = 1 "
            "(x has n elements). A and C are m x n."
        ),
        notes=(routine.COLUMNS, routine.VECTORS, "incx = 0: the one element stands for all.",
               "C may be the same tensor as A with the same leading dimension. C is never read otherwise.", _NOTHING),
        family="elementwise",
    )  # fmt: skip


def syrk(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?syrk_v2`: C <- alpha op(A) op(A)^T + beta C in one triangle."""
    return _syrk(name, dtype, (routine.OPERATIONS, routine.IEEE), trans=(0, 1, 2))


def syrk_ex(name: str, dtype: torch.dtype) -> Operator:
    """`cublasCsyrkEx`: `syrk` in complex fp32 whose types are arguments."""
    notes = (
        "trans is 0 for op(A) = A and 1 for its transpose; nothing is conjugated, not even in op(A)^T.",
        _EX_TYPES,
        routine.IEEE,
    )  # fmt: skip
    return _syrk(name, dtype, notes, trans=(0, 1), typed=(True,))


def _syrk(name: str, dtype: torch.dtype, notes: Sequence[str], **axes: Any) -> Operator:
    scalars = gemm.COMPLEX_SCALARS if dtype.is_complex else REAL
    first = {k: v[0] for k, v in axes.items()}
    edge = {**first, "n,k": (9, 6), "uplo": 1, "pad": 2}
    edges = [
        {**edge, "n,k": (0, 3), "alpha,beta": scalars[1]}, {**edge, "n,k": (9, 0), "alpha,beta": scalars[2]},
        {**edge, "alpha,beta": (0.0, 0.5)}, {**edge, "alpha,beta": (0.0, 0.0)},
        {**edge, "alpha,beta": (-0.5, 1.0), "output": "nan"},
        *({**edge, "alpha,beta": (-0.5, 0.0), "values": kind} for kind in buffers.EXTREMES),
    ]  # fmt: skip
    return routine.declare(
        name, build=build_syrk, oracle=oracle_syrk, touched=touched_syrk, writes=("C",),
        grids=_grids(
            name, dtype, edges, {"n,k": SYRK_QUICK}, {"n,k": SYRK_EXTRA}, {"n,k": (2048, 2048)},
            timed=lambda p: p["n"] >= 1024, weight=lambda p: p["n"] * max(p["n"], p["k"], p["n"] * p["k"] / 300),
            **{"alpha,beta": scalars, "uplo": (0, 1), **axes},
        ),
        jitter=routine.jitter("n", "k", "alpha", "beta", "uplo", "pad", "layout", "values", **axes),
        compare=Close(depth=lambda a: int(a["k"]), scale=_scale_syrk),
        description=(
            "Symmetric rank-k update C <- alpha*op(A)*op(A)^T + beta*C of one triangle of C, which is n x n; op(A) is n x k."
        ),
        notes=(routine.COLUMNS, routine.TRIANGLES, *notes, _UPDATE), family="syrk",
    )  # fmt: skip


def _grids(
    name: str, dtype: torch.dtype, edges: list[dict[str, Any]], quick: dict[str, Any], extra: dict[str, Any],
    large: dict[str, Any], *, timed: Any, weight: Any, **more: Any,
) -> dict[str, tuple[Grid, ...]]:  # fmt: skip
    kind = grids.plain_value(dtype)
    axes: dict[str, Any] = {
        **more, "pad": (0, 3), "values": ("normal", "trap"), "layout": buffers.LAYOUTS, "dtype": (kind,)
    }  # fmt: skip
    ((sizes, values),) = quick.items()
    base = {"dtype": kind, **{k: v[0] for k, v in more.items()}}
    smoke = grids.points(
        {**base, "pad": 2, "values": "trap", sizes: values[1]},
        {"dtype": kind, **{k: v[-1] for k, v in more.items()}, sizes: values[2]},
        origin="paper",
    )  # fmt: skip
    points = grids.points(*({"dtype": kind, **edge} for edge in edges))
    return {
        "paper": (
            *published.paper(name, dtype, weight=weight, timed=timed),
            grids.points({**base, **large}, origin="extra", timed=True),
            grids.pairwise(origin="extra", **{**axes, **extra}), points,
        ),
        "quick": (grids.pairwise(**{**axes, **quick}), points),
        "smoke": (smoke,),
    }  # fmt: skip
