"""Matrix times vector: `gemv`, `gemvStridedBatched` and `gemvBatched` of every type.

`y <- alpha op(A) x + beta y`, alone or for each item of a batch; m and n are those of A as it is stored.
"""

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
from kgb_gym.operators.maker import Maker, lay

QUICK = ((1, 1), (1, 40), (17, 5), (35, 66), (70, 40))
EXTRA = ((1, 33), (33, 1), (17, 33), (71, 497), (497, 71), (1024, 1041), (5333, 33), (33, 5333))
REAL = ((1.0, 0.0), (-0.999, 1.0), (100.001, -0.5), (0.001, 0.25))
COMPLEX = ((1.0, 0.0), ([0.5, 0.3], [0.5, -0.2]), ([0.0, 1.0], 1.0), (-0.999, [0.0, -0.25]))


def build(
    make: Maker, *, trans: str, m: int, n: int, alpha: Any, beta: Any, dtype: torch.dtype, incx: int = 1, incy: int = 1,
    pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `gemv` call.

    Args:
        make: the source of values.
        pad: by how much the leading dimension exceeds the rows.
        values: of A and x: `normal`, `trap`, or `nan` (for alpha = 0).
        output: of y before the call: `normal` or `nan`; always NaN where beta = 0.
        layout: where the buffers start in their storage.
    """
    lda = max(1, m) + pad
    a, x, y = _operands(make, trans, m, n, beta, dtype, incx, incy, lda, values, output, layout)
    return make.call(
        trans, m, n, buffers.scalar(alpha, dtype), a, lda, x, incx, buffers.scalar(beta, dtype), y, incy
    )  # fmt: skip


def build_strided(
    make: Maker, *, trans: str, m: int, n: int, alpha: Any, beta: Any, batchCount: int, dtype: torch.dtype,
    incx: int = 1, incy: int = 1, pad: int = 0, values: str = "normal", output: str = "normal",
    layout: str = "contiguous", gap: int = 0, shared: str = "",
) -> Call:  # fmt: skip
    """One `gemvStridedBatched` call; `gap` elements lie between items, and `shared` says whether A has stride 0."""
    lda = max(1, m) + pad
    sizes = [
        lda * n,
        *(buffers.length(size, inc) for size, inc in zip(_lengths(trans, m, n), (incx, incy), strict=True)),
    ]
    strides = [0 if name in shared else size + gap for name, size in zip("Axy", sizes, strict=True)]
    items = [
        _operands(make, trans, m, n, beta, dtype, incx, incy, lda, values, output, "contiguous")
        for _ in range(batchCount)
    ]
    tensors = []
    for index, name in enumerate("Axy"):
        guard = "kept" if name == "y" else "nan"
        spread = buffers.values(
            make, max(0, batchCount - 1) * strides[index] + sizes[index] + buffers.TAIL, dtype, guard
        )
        for number, item in enumerate(items):
            start = number * strides[index]
            spread[start : start + sizes[index]] = item[index][: sizes[index]]
        tensors.append(lay(spread, layout))
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(
        trans, m, n, one, tensors[0], lda, strides[0], tensors[1], incx, strides[1], two, tensors[2], incy, strides[2],
        batchCount,
    )  # fmt: skip


def build_lists(
    make: Maker, *, trans: str, m: int, n: int, alpha: Any, beta: Any, batchCount: int, dtype: torch.dtype,
    incx: int = 1, incy: int = 1, pad: int = 0, values: str = "normal", output: str = "normal",
    layout: str = "contiguous", shared: str = "", spare: int = 0,
) -> Call:  # fmt: skip
    """One `gemvBatched` call, whose arrays of pointers are lists of tensors: `spare` more than there are items; with
    `shared` one A serves all."""
    lda = max(1, m) + pad
    items = [
        _operands(make, trans, m, n, beta, dtype, incx, incy, lda, values, output, layout)
        for _ in range(batchCount + spare)
    ]
    a, x, y = ([item[place] for item in items] for place in range(3))
    if "A" in shared:
        a = a[:1] * len(a)
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(trans, m, n, one, a, lda, x, incx, two, y, incy, batchCount)


def _lengths(trans: str, m: int, n: int) -> tuple[int, int]:
    return (n, m) if trans == "N" else (m, n)


def _operands(
    make: Maker, trans: str, m: int, n: int, beta: Any, dtype: torch.dtype, incx: int, incy: int, lda: int, values: str,
    output: str, layout: str,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    taken, given = _lengths(trans, m, n)
    a = buffers.matrix(make, m, n, lda, dtype, kind=values, layout=layout)
    x = buffers.vector(make, taken, incx, dtype, kind=values, layout=layout)
    kind = output if buffers.scalar(beta, dtype) else "nan"
    return a, x, buffers.vector(make, given, incy, dtype, kind=kind, guard="kept", layout=layout)


def evaluate(
    trans: str, m: int, n: int, alpha: Any, A: torch.Tensor, lda: int, x: torch.Tensor, incx: int, beta: Any,
    y: torch.Tensor, incy: int,
) -> torch.Tensor:  # fmt: skip
    """The whole of y after one product, in double precision."""
    wide = buffers.wide(y.dtype)
    one, two = buffers.seen(alpha, y.dtype), buffers.seen(beta, y.dtype)
    answer = y.to(wide).clone()
    if m <= 0 or n <= 0:
        return answer
    taken, given = _lengths(trans, m, n)
    where = buffers.positions(given, incy)
    new = answer[where] * two if two != 0 else torch.zeros(given, dtype=wide)
    if one != 0:
        op = buffers.transposed(buffers.columns(A, m, n, lda).to(wide), trans)
        new = new + one * (op @ x.to(wide)[buffers.positions(taken, incx)])
    answer[where] = new
    return answer


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """y after the call."""
    return {"y": evaluate(**arguments)}


def oracle_strided(**arguments: Any) -> dict[str, torch.Tensor]:
    """y after the call, item after item."""
    answer = arguments["y"].to(buffers.wide(arguments["y"].dtype)).clone()
    for item in range(arguments["batchCount"]):
        start = item * arguments["stridey"]
        answer[start:] = evaluate(**{**_strided(arguments, item), "y": answer[start:], **_seen(arguments)})
    return {"y": answer}


def oracle_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """Each y after the call."""
    return {"yarray": routine.each(arguments, "yarray", evaluate, lambda y: y.to(buffers.wide(y.dtype)))}


def _strided(arguments: Mapping[str, Any], item: int) -> dict[str, Any]:
    out = {n: v for n, v in arguments.items() if not n.startswith("stride") and n != "batchCount"}
    for name in ("A", "x", "y"):
        out[name] = arguments[name][item * arguments[f"stride{name}"] :]
    return out


def _seen(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {s: buffers.seen(arguments[s], arguments["y"].dtype) for s in ("alpha", "beta")}


def mask(trans: str, m: int, n: int, y: torch.Tensor, incy: int, **_: Any) -> torch.Tensor:
    """True at the elements of one result."""
    out = torch.zeros(y.shape, dtype=torch.bool)
    if m > 0 and n > 0:
        out[buffers.positions(_lengths(trans, m, n)[1], incy)] = True
    return out


def touched(**arguments: Any) -> dict[str, torch.Tensor]:
    """True at the elements of y: not between them or behind."""
    return {"y": mask(**arguments)}


def touched_strided(**arguments: Any) -> dict[str, torch.Tensor]:
    """True at the elements of each y: not between them, between items or behind the last."""
    out = torch.zeros(arguments["y"].shape, dtype=torch.bool)
    for item in range(arguments["batchCount"]):
        out[item * arguments["stridey"] :] |= mask(**_strided(arguments, item))
    return {"y": out}


def touched_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """True at the elements of each y."""
    return {"yarray": routine.each(arguments, "yarray", mask, routine.untouched)}


def depth(arguments: Mapping[str, Any]) -> int:
    """Terms of one sum."""
    return int(arguments["n"] if arguments["trans"] == "N" else arguments["m"])


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |op(A)| |x| + |beta| |y|."""
    if "strideA" in arguments:
        return oracle_strided(**buffers.magnitudes(arguments))["y"]
    return evaluate(**buffers.magnitudes(routine.item_of(arguments)))


_TEXT = "y_i <- alpha*op(A_i)*x_i + beta*y_i for each i below batchCount"
_DEFINITION = (
    "op(A) is A for 'N', its transpose for 'T' and its conjugate transpose for 'C' (the same as 'T' for real types). A "
    "as it is stored is m x n, for every op."
)
_ZERO = (
    "beta = 0: y is not read, it may hold NaN. alpha = 0: A and x are not read, y becomes beta*y. m = 0 or n = 0: "
    "nothing is written, even where beta would scale."
)
_STRIDED = (
    "Item i of a batch starts at i*strideA, i*stridex and i*stridey elements; strideA may be 0 (one matrix for all "
    "items), and strides may exceed the items. batchCount = 0: nothing is written."
)
_NAMES = ("m", "n", "alpha", "beta", "trans", "incx", "incy", "pad", "layout", "values")


def gemv(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemv_v2`: one product."""
    return routine.declare(
        name, build=build, oracle=oracle, touched=touched, writes=("y",), grids=_grids(name, dtype),
        jitter=routine.jitter(*_NAMES), compare=Close(depth=depth, scale=scale),
        description=f"Matrix times vector y <- alpha*op(A)*x + beta*y. {_DEFINITION}", notes=_notes(dtype), family="gemv",
    )  # fmt: skip


def gemv_strided(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemvStridedBatched`: one product for each item of a batch at constant distances."""
    return routine.declare(
        name, build=build_strided, oracle=oracle_strided, touched=touched_strided, writes=("y",),
        grids=_grids(name, dtype, gap=(0, 7)), jitter=routine.jitter(*_NAMES, "batchCount", "gap", "shared"),
        compare=Close(depth=depth, scale=scale), description=f"Matrices times vectors: {_TEXT}. {_DEFINITION}",
        notes=_notes(dtype, _STRIDED), family="gemv",
    )  # fmt: skip


def gemv_batched(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemvBatched`: one product for each item of a batch, given by lists of tensors."""
    return routine.declare(
        name, build=build_lists, oracle=oracle_lists, touched=touched_lists, writes=("yarray",),
        grids=_grids(name, dtype), jitter=routine.jitter(*_NAMES, "batchCount", "shared"),
        compare=Close(depth=depth, scale=scale), description=f"Matrices times vectors: {_TEXT}. {_DEFINITION}",
        notes=_notes(dtype, routine.LISTS), family="gemv",
    )  # fmt: skip


def _notes(dtype: torch.dtype, *further: str) -> tuple[str, ...]:
    exact = (routine.IEEE,) if dtype in (torch.float32, torch.complex64) else ()
    return (routine.COLUMNS, routine.VECTORS, _ZERO, *further, *exact)


def _grids(name: str, dtype: torch.dtype, **more: Any) -> dict[str, tuple[Grid, ...]]:
    kind, scalars = grids.plain_value(dtype), COMPLEX if dtype.is_complex else REAL
    batched = "Batched" in name
    timed = (lambda p: p["m"] >= 128 and p["n"] >= 64) if batched else (lambda p: p["m"] >= 64 and p["n"] >= 64)
    axes: dict[str, Any] = {
        "trans": "NTC", "alpha,beta": scalars, "incx": INCREMENTS, "incy": INCREMENTS, "pad": (0, 3),
        "values": ("normal", "trap"), "layout": buffers.LAYOUTS, "dtype": (kind,), **more,
        **({"shared": ("", "A")} if batched else {}),
    }  # fmt: skip
    one = {"dtype": kind, **({"batchCount": 1} if batched else {})}
    edges = grids.points(*({**one, **edge} for edge in (*_edges(scalars), *(_batch_edges(name) if batched else ()))))
    further: dict[str, Any] = {"m,n": EXTRA, **({"batchCount": (1, 3, 17)} if batched else {})}
    bearable: dict[str, Any] = {
        "m,n": QUICK, "incx": (1, 2, -1, -3), "incy": (1, 2, -1, -3), **({"batchCount": (1, 3)} if batched else {}),
    }  # fmt: skip
    tiny = {**one, "incx": 2, "incy": -1, "pad": 2, "values": "trap", "alpha,beta": scalars[1]}
    large = {**one, "m,n": (4096, 4096) if not batched else (2048, 2048), "alpha,beta": scalars[0]}
    return {
        "paper": (
            *published.paper(
                name, dtype, weight=lambda p: p["m"] * p["n"] * p.get("batchCount", 1), timed=timed
            ),
            grids.points(*({**large, "trans": t} for t in "NT"), origin="extra", timed=True),
grids.pairwise(origin="extra", **{**axes, **further}),
            edges,
        ),
        "quick": (grids.pairwise(**{**axes, **bearable}), edges),
        "smoke": (grids.points(
            {**tiny, "m,n": (5, 9), "trans": "N"}, {**tiny, "m,n": (18, 4), "trans": "C"}, origin="paper"
        ),),
    }  # fmt: skip


def _edges(scalars: Any) -> list[dict[str, Any]]:
    """Zero sizes, scalars that make an operand unread, NaN that must come through."""
    plain = {"trans": "T", "pad": 2, "incy": 2}
    return [
        {**plain, "m,n": (0, 4), "alpha,beta": scalars[1]},
        {**plain, "m,n": (4, 0), "alpha,beta": scalars[2], "trans": "N"},
        {**plain, "m,n": (9, 6), "alpha,beta": (0.0, 0.5), "values": "nan"},
        {**plain, "m,n": (9, 6), "alpha,beta": (0.0, 0.0), "values": "nan"},
        {**plain, "m,n": (9, 6), "alpha,beta": (-0.5, 1.0), "output": "nan"},
        *({**plain, "m,n": (9, 16), "alpha,beta": (-0.5, 0.0), "values": kind} for kind in buffers.EXTREMES),
    ]


def _batch_edges(name: str) -> list[dict[str, Any]]:
    plain = {"trans": "N", "pad": 1, "m,n": (9, 6), "alpha,beta": (-0.5, 0.25)}
    spare = {} if "Strided" in name else {"spare": 1}
    return [
        {**plain, **spare, "batchCount": 0}, {**plain, **spare, "trans": "C", "batchCount": 2, "incx": -2, "incy": -2},
    ]  # fmt: skip
