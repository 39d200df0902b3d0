"""Triangular matrices: products `tbmv`, and the solves `trsv`, `trsm` and `trsmBatched` of every type.

Matrices to be solved have diagonals of magnitude 1 to 2 and small elements beside them, so that the solution is as
well determined as the data. A solution's error is bounded by M(T)^-1 (|T| |x| + |alpha b|), M(T) being the comparison
matrix of T (its diagonal's magnitudes, minus those of the rest): what substitution in any order commits.
"""

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

NAN = float("nan")
REAL = (1.0, -1.0, 100.001, 0.5)
COMPLEX = (1.0, [0.5, 0.3], [0.0, -1.0], -0.999)


def build_tbmv(
    make: Maker, *, uplo: int, trans: int, diag: int, n: int, k: int, incx: int, dtype: torch.dtype, pad: int = 0,
    values: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `tbmv` call."""
    a, lda = bands.stored(make, n, k, uplo, pad, dtype, values, layout)
    if diag and n > 0:
        bands.diagonal_of(a, lda, n, k, uplo, 0).fill_(NAN)
    x = buffers.vector(make, n, incx, dtype, guard="kept", layout=layout)
    return make.call(uplo, trans, diag, n, k, a, lda, x, incx)


def solvable(
    make: Maker, n: int, ld: int, uplo: int, diag: int, dtype: torch.dtype, layout: str
) -> torch.Tensor:  # fmt: skip
    """A triangle that is well conditioned; NaN in the other one, and on the diagonal where it counts as ones."""
    a = buffers.matrix(make, n, n, ld, dtype, layout=layout)
    part = buffers.columns(a, n, n, ld)
    main = part.diagonal()
    signs = torch.where(make.integers((n,), torch.bool), 1.0, -1.0)
    size = make.uniform((n,), torch.float64, low=1.0, high=2.0) * signs
    part.mul_(1.0 / max(n, 2))
    main.copy_(size * (0.8 + 0.6j) if dtype.is_complex else size)
    buffers.hide(part, uplo, NAN, diagonal=bool(diag))
    return a


def build_trsv(
    make: Maker, *, uplo: int, trans: int, diag: int, n: int, incx: int, dtype: torch.dtype, pad: int = 0,
    layout: str = "contiguous", values: str = "normal",
) -> Call:  # fmt: skip
    """One `trsv` call; `values` of x."""
    lda = max(1, n) + pad
    a = solvable(make, n, lda, uplo, diag, dtype, layout)
    x = buffers.vector(make, n, incx, dtype, kind=values, guard="kept", layout=layout)
    return make.call(uplo, trans, diag, n, a, lda, x, incx)


def build_trsm(
    make: Maker, *, side: int, uplo: int, trans: int, diag: int, m: int, n: int, alpha: Any, dtype: torch.dtype,
    pad: int = 0, layout: str = "contiguous", hidden: str = "", values: str = "normal",
) -> Call:  # fmt: skip
    """One `trsm` call; `hidden`: A is NaN throughout (for alpha = 0); `values` of B."""
    order, ldb = n if side else m, max(1, m) + pad
    lda = max(1, order) + 2 * pad
    a = solvable(make, order, lda, uplo, diag, dtype, layout)
    if hidden:
        a.fill_(NAN)
    b = buffers.matrix(make, m, n, ldb, dtype, kind=values, guard="kept", layout=layout)
    return make.call(side, uplo, trans, diag, m, n, buffers.scalar(alpha, dtype), a, lda, b, ldb)


def build_lists(make: Maker, *, batchCount: int, spare: int = 0, shared: str = "", **params: Any) -> Call:
    """One `trsmBatched` call: `spare` more tensors than there are items; with `shared` one A serves all."""
    calls = [build_trsm(make, **params).args for _ in range(batchCount + spare)]
    a, b = [c[7] for c in calls], [c[9] for c in calls]
    a = a[:1] * len(a) if "A" in shared else a
    return make.call(*calls[0][:7], a, calls[0][8], b, calls[0][10], batchCount)


def oracle_tbmv(
    uplo: int, trans: int, diag: int, n: int, k: int, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int
) -> dict[str, torch.Tensor]:
    """x after `tbmv`."""
    answer = x.to(buffers.wide(x.dtype)).clone()
    where = buffers.positions(n, incx)
    band = A.to(answer.dtype)
    band = band.conj() if trans == 2 else band
    answer[where] = bands.times(band, lda, n, k, uplo, answer[where], transposed=trans > 0, unit=bool(diag))
    return {"x": answer}


def triangle(A: torch.Tensor, lda: int, n: int, uplo: int, trans: int, diag: int) -> torch.Tensor:
    """op(A) in double precision with zeros in the other triangle and its diagonal filled in."""
    part = buffers.columns(A, n, n, lda).to(buffers.wide(A.dtype))
    clean = torch.triu(part) if uplo else torch.tril(part)
    if diag:
        clean.fill_diagonal_(1.0)
    return buffers.transposed(clean, trans).resolve_conj()


def _solve(op: torch.Tensor, right: torch.Tensor, upper: bool, left: bool = True) -> torch.Tensor:
    solution: torch.Tensor = torch.linalg.solve_triangular(op, right, upper=upper, left=left)
    return solution


def _bound(op: torch.Tensor, solution: torch.Tensor, right: torch.Tensor, upper: bool, left: bool) -> torch.Tensor:
    size = op.abs()
    comparison = 2 * torch.diag(size.diagonal()) - size
    residual = (size @ solution.abs() if left else solution.abs() @ size) + right.abs()
    return _solve(comparison, residual, upper, left)


def solved_vector(
    uplo: int, trans: int, diag: int, n: int, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int, bound: bool = False
) -> torch.Tensor:
    """x after `trsv`, or with `bound` what its error is measured by."""
    answer = x.to(buffers.wide(x.dtype)).clone()
    if n > 0:
        where, op, upper = buffers.positions(n, incx), triangle(A, lda, n, uplo, trans, diag), bool(uplo) != (trans > 0)
        right = answer[where][:, None]
        solution = _solve(op, right, upper)
        answer[where] = (_bound(op, solution, right, upper, True).to(answer.dtype) if bound else solution)[:, 0]
    return answer.abs() if bound else answer


def solved_matrix(
    side: int, uplo: int, trans: int, diag: int, m: int, n: int, alpha: Any, A: torch.Tensor, lda: int, B: torch.Tensor,
    ldb: int, bound: bool = False,
) -> torch.Tensor:  # fmt: skip
    """B after `trsm`, or with `bound` what its error is measured by."""
    answer = B.to(buffers.wide(B.dtype)).clone()
    if m > 0 and n > 0:
        part, factor = buffers.columns(answer, m, n, ldb), buffers.seen(alpha, B.dtype)
        if factor == 0:
            part.zero_()
        else:
            op, upper = triangle(A, lda, n if side else m, uplo, trans, diag), bool(uplo) != (trans > 0)
            right = part * factor
            solution = _solve(op, right, upper, not side)
            part.copy_(_bound(op, solution, right, upper, not side) if bound else solution)
    return answer.abs() if bound else answer


def oracle_trsv(**arguments: Any) -> dict[str, torch.Tensor]:
    """x after `trsv`."""
    return {"x": solved_vector(**arguments)}


def oracle_trsm(**arguments: Any) -> dict[str, torch.Tensor]:
    """B after `trsm`."""
    return {"B": solved_matrix(**arguments)}


def oracle_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """Each B after `trsmBatched`."""
    return {"Barray": routine.each(arguments, "Barray", solved_matrix, lambda b: b.to(buffers.wide(b.dtype)))}


def touched_vector(n: int, x: torch.Tensor, incx: int, **_: Any) -> dict[str, torch.Tensor]:
    """True at the elements of x."""
    mask = torch.zeros(x.shape, dtype=torch.bool)
    mask[buffers.positions(n, incx)] = True
    return {"x": mask}


def _mask(m: int, n: int, B: torch.Tensor, ldb: int, **_: Any) -> torch.Tensor:
    out = torch.zeros(B.shape, dtype=torch.bool)
    buffers.columns(out, m, n, ldb).fill_(True)
    return out


def touched_matrix(**arguments: Any) -> dict[str, torch.Tensor]:
    """True at the m x n elements of B."""
    return {"B": _mask(**arguments)}


def touched_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """True at the elements of each B."""
    return {"Barray": routine.each(arguments, "Barray", _mask, routine.untouched)}


def _scale_tbmv(arguments: Mapping[str, Any]) -> torch.Tensor:
    return oracle_tbmv(**buffers.magnitudes(arguments))["x"]


def _scale_trsv(arguments: Mapping[str, Any]) -> torch.Tensor:
    return solved_vector(**buffers.passed(arguments), bound=True)


def _scale_trsm(arguments: Mapping[str, Any]) -> torch.Tensor:
    return solved_matrix(**routine.item_of(arguments), bound=True)


_TRIANGLE = "Only the uplo triangle of A is read: the other one may hold NaN."
_NOT_SINGULAR = "There is no test for singularity: a zero on the diagonal gives infinities or NaN, not an error."


def tbmv(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?tbmv_v2`: x <- op(A) x for a triangular band."""
    edges: list[dict[str, Any]] = [
        {"n,k": (0, 2)},
        {"n,k": (2, 4)},
        *({"n,k": (17, 2), "values": kind} for kind in buffers.FAR),
    ]
    axes = {"trans": (0, 1, 2), "incx": INCREMENTS, "values": ("normal", "trap")}
    return routine.declare(
        name, build=build_tbmv, oracle=oracle_tbmv, touched=touched_vector, writes=("x",),
        grids=_grids(
            name, dtype, edges, {"n,k": ((1, 0), (17, 2), (33, 7), (20, 19), (9, 30), (300, 1))},
            {"n,k": ((1, 2), (17, 0), (71, 2), (497, 7), (71, 70), (33, 40), (5333, 7), (5333, 129))},
            {"n,k": (65536, 64)}, timed=lambda p: p["n"] >= 1024, weight=lambda p: 3 * p["n"], **axes,
        ),
        jitter=routine.jitter("n", "k", "uplo", "diag", "incx", "pad", "layout", "values", trans=(0, 1, 2)),
        compare=Close(depth=lambda a: min(int(a["k"]), int(a["n"])) + 1, scale=_scale_tbmv),
        description=(
            "Triangular band matrix times vector x <- op(A)*x, in place. A is n x n with k diagonals beside the main one, on "
            "the side that uplo says."
        ),
        notes=(bands.LAYOUT, routine.VECTORS, routine.TRIANGLES, routine.OPERATIONS, routine.DIAGONAL,
               "n = 0: nothing is written. k may exceed n."), family="band",
    )  # fmt: skip


def trsv(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?trsv_v2`: x <- op(A)^-1 x."""
    return routine.declare(
        name, build=build_trsv, oracle=oracle_trsv, touched=touched_vector, writes=("x",),
        grids=_grids(
            name, dtype, [{"n": 0}, {"n": 2}, *({"n": 17, "values": kind} for kind in buffers.FAR)], {"n": (1, 17, 32, 40, 70)}, {"n": (1, 17, 33, 71, 497, 1041)},
            {"n": 4096}, timed=lambda p: p["n"] >= 1024, weight=lambda p: p["n"] ** 2, trans=(0, 1, 2), incx=INCREMENTS,
        ),
        jitter=routine.jitter("n", "uplo", "diag", "incx", "pad", "layout", trans=(0, 1, 2)),
        compare=Close(depth=lambda a: int(a["n"]), scale=_scale_trsv),
        description="Triangular solve in place: x becomes the z with op(A)*z = x. A is n x n.",
        notes=(routine.COLUMNS, routine.VECTORS, f"{routine.TRIANGLES} {_TRIANGLE}", routine.OPERATIONS,
               routine.DIAGONAL, _NOT_SINGULAR, *_exact(dtype), "n = 0: nothing is written."), family="triangular",
    )  # fmt: skip


def trsm(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?trsm_v2`: B <- alpha op(A)^-1 B, or with A to the right."""
    return routine.declare(
        name, build=build_trsm, oracle=oracle_trsm, touched=touched_matrix, writes=("B",),
        grids=_grids(name, dtype, _EDGES, *_TRSM, {"m,n": (2048, 2048)}, **_solves(name, dtype)),
        jitter=routine.jitter("m", "n", "alpha", "side", "uplo", "diag", "pad", "layout", trans=(0, 1, 2), hidden=("",)),
        compare=Close(depth=_order, scale=_scale_trsm), description=_SOLVE.format("B", "X", "A"),
        notes=_notes(dtype), family="triangular",
    )  # fmt: skip


def trsm_batched(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?trsmBatched`: one `trsm` for each item of a batch, given by lists of tensors."""
    edges = [{"batchCount": 1, **e} for e in (*_EDGES, {"m,n": (9, 6), "alpha": 0.5, "spare": 1, "batchCount": 0},
             {"m,n": (9, 6), "alpha": 0.5, "spare": 2, "batchCount": 2})]  # fmt: skip
    return routine.declare(
        name, build=build_lists, oracle=oracle_lists, touched=touched_lists, writes=("Barray",),
        grids=_grids(
            name, dtype, edges, *_TRSM, {"m,n": (256, 256), "batchCount": 64}, batchCount=(1, 2), shared=("", "A"),
            **_solves(name, dtype),
        ),
        jitter=routine.jitter(
            "m", "n", "alpha", "side", "uplo", "diag", "pad", "layout", "batchCount", "shared", trans=(0, 1, 2), hidden=("",)
        ),
        compare=Close(depth=_order, scale=_scale_trsm),
        description=_SOLVE.format("B_i", "X_i", "A_i") + " This is done for each i below batchCount.",
        notes=(*_notes(dtype), routine.LISTS), family="triangular",
    )  # fmt: skip


_EDGES = [{"m,n": (0, 3), "alpha": 1.0}, {"m,n": (9, 6), "alpha": 0.0, "hidden": "A", "pad": 2},
          *({"m,n": (9, 6), "alpha": 0.5, "values": kind} for kind in buffers.FAR)]  # fmt: skip
_TRSM = (
    {"m,n": ((1, 1), (5, 17), (33, 4), (20, 40))},
    {"m,n": ((1, 1), (17, 33), (33, 17), (71, 8), (64, 497))},
)
_SOLVE = (
    "Triangular solve in place: {0} becomes the {1} with op({2})*{1} = alpha*{0} for side = 0 ({2} is m x m), or "
    "{1}*op({2}) = alpha*{0} for side = 1 ({2} is n x n). {0} is m x n."
)


def _solves(name: str, dtype: torch.dtype) -> dict[str, Any]:
    rows, columns = (64, 32) if "Batched" in name else (48, 8)
    return {
        "timed": lambda p: p["m"] >= rows and p["n"] >= columns, "weight": lambda p: p["m"] * p["n"], "side": (0, 1),
        "trans": (0, 1, 2), "alpha": COMPLEX if dtype.is_complex else REAL,
    }  # fmt: skip


def _order(arguments: Mapping[str, Any]) -> int:
    return max(1, int(arguments["n"] if arguments["side"] else arguments["m"]))


def _exact(dtype: torch.dtype) -> tuple[str, ...]:
    return (routine.IEEE,) if dtype in (torch.float32, torch.complex64) else ()


def _notes(dtype: torch.dtype) -> tuple[str, ...]:
    zero = "alpha = 0: A is not read, B becomes 0. m = 0 or n = 0: nothing is written."
    return (
        routine.COLUMNS, f"{routine.TRIANGLES} {_TRIANGLE}", routine.OPERATIONS, routine.DIAGONAL, _NOT_SINGULAR, zero,
        *_exact(dtype),
    )  # fmt: skip


def _grids(
    name: str, dtype: torch.dtype, edges: list[dict[str, Any]], quick: dict[str, Any], extra: dict[str, Any],
    large: dict[str, Any], *, timed: Any, weight: Any, **more: Any,
) -> dict[str, tuple[Grid, ...]]:  # fmt: skip
    kind = grids.plain_value(dtype)
    axes: dict[str, Any] = {
        "uplo": (0, 1), "diag": (0, 1), **more, "pad": (0, 3), "layout": buffers.LAYOUTS, "dtype": (kind,)
    }  # fmt: skip
    ((sizes, values),) = quick.items()
    first = {k: v[0] for k, v in axes.items() if k not in ("pad", "layout")}
    points = grids.points(*({**first, "uplo": 1, "trans": 1, **edge} for edge in edges))
    smoke = grids.points(
        {**first, sizes: values[1], "pad": 2},
        {**{k: v[1] for k, v in axes.items() if k not in ("pad", "layout", "dtype")}, "dtype": kind, sizes: values[2]},
        origin="paper",
    )  # fmt: skip
    return {
        "paper": (
            *published.paper(name, dtype, weight=weight, timed=timed),
            grids.points({**first, **large}, origin="extra", timed=True),
            grids.pairwise(origin="extra", **{**axes, **extra}), points,
        ),
        "quick": (grids.pairwise(**{**axes, **quick}), points),
        "smoke": (smoke,),
    }  # fmt: skip
