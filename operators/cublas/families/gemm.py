"""Matrix products: `gemm`, `gemmStridedBatched` and `gemmBatched` of every type.

`C <- alpha op(A) op(B) + beta C`, alone or for each item of a batch.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Close
from kgb_gym.operators.cublas.families import buffers, published, routine
from kgb_gym.operators.declaration import Call, Operator
from kgb_gym.operators.grids import Grid, Params
from kgb_gym.operators.maker import Maker

Axis = Sequence[Any]

EXTRA_SIZES = ((1, 1, 1), (17, 33, 71), (33, 71, 497), (71, 497, 17), (497, 33, 5333), (256, 256, 256), (5333, 71, 33))
QUICK_SIZES = ((1, 1, 1), (16, 16, 16), (5, 33, 40), (40, 3, 65), (17, 20, 97))
REAL_SCALARS = ((1.0, 0.0), (-0.999, 1.0), (100.001, -0.5), (0.001, 0.25))
COMPLEX_SCALARS = ((1.0, 0.0), ([0.5, 0.3], [0.5, -0.2]), ([0.0, 1.0], 1.0), (-0.999, [0.0, -0.25]))


def build(
    make: Maker, *, transa: str, transb: str, m: int, n: int, k: int, alpha: Any, beta: Any, dtype: torch.dtype,
    pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
) -> Call:  # fmt: skip
    """One `gemm` call.

    Args:
        make: the source of values.
        pad: by how much each leading dimension exceeds the rows.
        values: of A and B: `normal`, `trap`, or `nan` (for alpha = 0).
        output: of C before the call: `normal` or `nan`; always NaN where beta = 0.
        layout: where the buffers start in their storage.
    """
    a, b, c, (lda, ldb, ldc), _ = _operands(make, transa, transb, m, n, k, beta, dtype, pad, values, output, layout)
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(transa, transb, m, n, k, one, a, lda, b, ldb, two, c, ldc)


def build_strided(
    make: Maker, *, transa: str, transb: str, m: int, n: int, k: int, alpha: Any, beta: Any, batchCount: int,
    dtype: torch.dtype, pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
    gap: int = 0, shared: str = "",
) -> Call:  # fmt: skip
    """One `gemmStridedBatched` call; `gap` elements lie between matrices, and those named in `shared` have stride 0."""
    a, b, c, (lda, ldb, ldc), (stride_a, stride_b, stride_c) = _operands(
        make, transa, transb, m, n, k, beta, dtype, pad, values, output, layout, batchCount, gap, shared
    )
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(
        transa, transb, m, n, k, one, a, lda, stride_a, b, ldb, stride_b, two, c, ldc, stride_c, batchCount
    )  # fmt: skip


def build_lists(
    make: Maker, *, transa: str, transb: str, m: int, n: int, k: int, alpha: Any, beta: Any, batchCount: int,
    dtype: torch.dtype, pad: int = 0, values: str = "normal", output: str = "normal", layout: str = "contiguous",
    shared: str = "", spare: int = 0,
) -> Call:  # fmt: skip
    """One `gemmBatched` call, whose arrays of pointers are lists of tensors: `spare` more than there are items; one of
    those named in `shared` serves all."""
    items = [
        _operands(make, transa, transb, m, n, k, beta, dtype, pad, values, output, layout)
        for _ in range(batchCount + spare)
    ]
    a, b, c = ([item[place] for item in items] for place in range(3))
    lda, ldb, ldc = items[0][3]
    a = a[:1] * len(a) if "A" in shared else a
    b = b[:1] * len(b) if "B" in shared else b
    one, two = buffers.scalar(alpha, dtype), buffers.scalar(beta, dtype)
    return make.call(transa, transb, m, n, k, one, a, lda, b, ldb, two, c, ldc, batchCount)


def _operands(
    make: Maker, transa: str, transb: str, m: int, n: int, k: int, beta: Any, dtype: torch.dtype, pad: int,
    values: str, output: str, layout: str, count: int = 1, gap: int = 0, shared: str = "",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int], list[int]]:  # fmt: skip
    shapes = {"A": buffers.stored(transa, m, k), "B": buffers.stored(transb, k, n), "C": (m, n)}
    tensors, lds, strides = [], [], []
    for name, (rows, cols) in shapes.items():
        ld = max(1, rows) + pad
        stride = 0 if name in shared else ld * cols + gap
        kind, guard = values, "nan"
        if name == "C":
            kind, guard = "nan" if not buffers.scalar(beta, dtype) else output, "kept"
        items = min(count, 1) if name in shared else count
        tensors.append(
            buffers.matrix(
                make, rows, cols, ld, dtype, kind=kind, guard=guard, layout=layout, count=items, stride=stride
            )
        )
        lds.append(ld)
        strides.append(stride)
    return (*tensors, lds, strides)  # type: ignore[return-value]


def evaluate(
    arguments: Mapping[str, Any], *, magnitude: bool = False, scalars: torch.dtype | None = None
) -> torch.Tensor:  # fmt: skip
    """The whole of C after the call in double precision; with `magnitude` the same formula on absolute values, zero in
    elements that the call does not define. `scalars`: the type of alpha and beta; None: that of C."""
    c = arguments["C"]
    alpha, beta = (buffers.seen(arguments[x], scalars or c.dtype) for x in ("alpha", "beta"))
    if magnitude:
        arguments = buffers.magnitudes(arguments)
        alpha, beta = abs(alpha), abs(beta)
    m, n, k = (arguments[x] for x in "mnk")
    wide = torch.float64 if magnitude else buffers.wide(c.dtype)
    before = arguments["C"].to(wide)
    after = torch.zeros_like(before) if magnitude else before.clone()
    a, b = arguments["A"].to(wide), arguments["B"].to(wide)
    for item in range(arguments.get("batchCount", 1)):
        if not (m > 0 and n > 0):
            break
        old = buffers.columns(before, m, n, arguments["ldc"], item * arguments.get("strideC", 0))
        new = torch.zeros_like(old) if beta == 0 else beta * old
        if alpha != 0 and k > 0:
            parts = []
            for x, op, name, shape in ((a, "transa", "A", (m, k)), (b, "transb", "B", (k, n))):
                rows, cols = buffers.stored(arguments[op], *shape)
                offset = item * arguments.get(f"stride{name}", 0)
                part = buffers.columns(x, rows, cols, arguments[f"ld{name.lower()}"], offset)
                parts.append(buffers.transposed(part, arguments[op]))
            new = new + alpha * (parts[0] @ parts[1])
        buffers.columns(after, m, n, arguments["ldc"], item * arguments.get("strideC", 0)).copy_(new)
    return after


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """C after the call."""
    return {"C": evaluate(arguments)}


def oracle_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """Each C after the call."""

    def one(**item: Any) -> torch.Tensor:
        return evaluate(item)

    return {"Carray": routine.each(arguments, "Carray", one, lambda c: c.to(buffers.wide(c.dtype)))}


def mask(**arguments: Any) -> torch.Tensor:
    """True at the m x n elements of each C: not in padding rows, between batch items or behind the last."""
    out = torch.zeros(arguments["C"].shape, dtype=torch.bool)
    for item in range(arguments.get("batchCount", 1)):
        offset = item * arguments.get("strideC", 0)
        buffers.columns(out, arguments["m"], arguments["n"], arguments["ldc"], offset).fill_(True)
    return out


def touched(**arguments: Any) -> dict[str, torch.Tensor]:
    """True at the elements of C that are defined."""
    return {"C": mask(**arguments)}


def touched_lists(**arguments: Any) -> dict[str, list[torch.Tensor]]:
    """True at the elements of each C that are defined."""
    return {"Carray": routine.each(arguments, "Carray", mask, routine.untouched)}


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes, padding, ops, scalars and offsets (and batch, gaps and sharing where there is one)."""
    changed = {**params, **{x: buffers.jitter_size(rng, params[x]) for x in "mnk"}}
    changed |= {"pad": rng.randint(1, 6), "layout": rng.choice(buffers.LAYOUTS), "values": "normal"}
    changed |= {x: buffers.jitter_scalar(rng, params["dtype"]) for x in ("alpha", "beta")}
    changed |= {x: rng.choice("NTC") for x in ("transa", "transb")}
    if "batchCount" in params:
        changed |= {"batchCount": rng.randint(1, 3), "shared": rng.choice(("", "A", "B"))}
    if "gap" in params:
        changed["gap"] = rng.randint(1, 9)
    return changed


def depth(arguments: Mapping[str, Any]) -> int:
    """Terms of one sum."""
    return int(arguments["k"])


def scale(arguments: Mapping[str, Any]) -> torch.Tensor:
    """|alpha| |op(A)| |op(B)| + |beta| |C|."""
    return evaluate(arguments if "strideC" in arguments else routine.item_of(arguments), magnitude=True)


COMPARE = Close(depth=depth, scale=scale)
COMPARE_HALF = Close(depth=depth, scale=scale, own=3.0)
"""The library itself rounds sums to fp16 on the way: by up to 1.8 times u_out·S on an H200, for any k."""

DEFINITION = (
    "op(X) is X for 'N', its transpose for 'T' and its conjugate transpose for 'C' (the same as 'T' for real types). "
    "op(A) is m x k, op(B) is k x n, C is m x n."
)
NOTES = (
    (
        "A, B and C are one-dimensional buffers holding column-major matrices: element (i, j) is at index i + j*ld. "
        "Leading dimensions may exceed the rows, and buffers may be longer than the matrices; the elements in between "
        "hold NaN in A and B, and must keep their bits in C."
    ),
    (
        "beta = 0: C is not read, it may hold NaN. alpha = 0 or k = 0: A and B are not read, C becomes beta*C. m = 0 "
        "or n = 0: nothing is written."
    ),
)
_FP32 = "All arithmetic is IEEE fp32: TF32 or half-precision products are wrong."
_FP16 = (
    "alpha and beta are fp16 as well: round them first. Sums accumulated in fp32 and rounded once are best; a few roundings "
    "to fp16 on the way, as the library makes, are tolerated."
)
_BATCH = "Batched matrix product C_i <- alpha*op(A_i)*op(B_i) + beta*C_i for each i below batchCount."
_STRIDED = (
    "Item i of a batch starts at i*strideA, i*strideB and i*strideC elements; strideA and strideB may be 0 (one matrix "
    "for all items), and strides may exceed the matrices. batchCount = 0: nothing is written."
)


def gemm(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemm_v2`: one matrix product."""
    return _declare(
        name, dtype, "Matrix product C <- alpha*op(A)*op(B) + beta*C.", (),
        build=build, oracle=oracle, touched=touched, writes=("C",),
    )  # fmt: skip


def gemm_strided(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemmStridedBatched`: one product for each item of a batch at constant distances."""
    return _declare(
        name, dtype, _BATCH, (_STRIDED,), build=build_strided, oracle=oracle, touched=touched, writes=("C",)
    )  # fmt: skip


def gemm_batched(name: str, dtype: torch.dtype) -> Operator:
    """`cublas?gemmBatched`: one product for each item of a batch, given by lists of tensors."""
    return _declare(
        name, dtype, _BATCH, (routine.LISTS,),
        build=build_lists, oracle=oracle_lists, touched=touched_lists, writes=("Carray",),
    )  # fmt: skip


def _declare(name: str, dtype: torch.dtype, text: str, further: tuple[str, ...], **parts: Any) -> Operator:
    exact: tuple[str, ...] = (_FP32,) if dtype in (torch.float32, torch.complex64) else ()
    if dtype is torch.float16:
        exact = (_FP16,)
    return routine.declare(
        name, **parts, grids=make_grids(name, dtype), jitter=jitter, compare=COMPARE_HALF if dtype is torch.float16 else COMPARE,
        description=f"{text} {DEFINITION}", notes=(*NOTES, *further, *exact), family="gemm",
    )  # fmt: skip


def weight(point: Params) -> float:
    """How large a point of the grid is: its elements, or a share of its multiplications."""
    m, n, k = (point[x] for x in "mnk")
    return float(point.get("batchCount", 1) * max(m * n, m * k, n * k, m * n * k / 300))


def is_timed(point: Params) -> bool:
    """Whether the published test times the point."""
    return bool(point["m"] >= 128 and point["n"] >= 128 and point["k"] >= 64)


def make_grids(name: str, dtype: torch.dtype, **more: Axis) -> dict[str, tuple[Grid, ...]]:
    """The grids of a product; `more` are further axes of all but the published points."""
    kind = {"dtype": (grids.plain_value(dtype),)}
    strided = "StridedBatched" in name
    batched = "Batched" in name
    scalars = COMPLEX_SCALARS if dtype.is_complex else REAL_SCALARS
    awkward: dict[str, Any] = {
        "transa": "NTC",
        "transb": "NTC",
        "alpha,beta": scalars,
        "pad": (0, 3),
        "values": ("normal", "trap"),
        "layout": buffers.LAYOUTS,
        **({"batchCount": (1, 3), "shared": ("", "A", "B")} if batched else {}),
        **({"gap": (0, 7)} if strided else {}),
        **more,
        **kind,
    }
    further: dict[str, Any] = {"m,n,k": EXTRA_SIZES, **awkward, **({"batchCount": (1, 3, 17)} if batched else {})}
    bearable: dict[str, Any] = {"m,n,k": QUICK_SIZES, **awkward}
    base: dict[str, Any] = {
        "dtype": kind["dtype"][0], **({"batchCount": 2} if batched else {}), **{n: v[0] for n, v in more.items()}
    }  # fmt: skip
    edges = grids.points(
        *({**base, **edge} for edge in (*_edges(scalars), *(_batch_edges(strided) if batched else ())))
    )
    tiny = {**base, "transa": "N", "transb": "T", "pad": 2, "values": "trap"}
    smoke = grids.points(
        {**tiny, "m,n,k": (5, 3, 7), "alpha,beta": scalars[0]},
        {**tiny, "m,n,k": (3, 18, 4), "alpha,beta": scalars[1], "transb": "C"},
        origin="paper",
    )
    large = {**base, "transb": "N", "alpha,beta": scalars[0], **({"batchCount": 16} if batched else {})}
    bound = grids.points(
        *({**large, "transa": op, "m,n,k": (512,) * 3 if batched else (2048,) * 3} for op in "NT"),
        origin="extra",
        timed=True,
    )
    return {
        "paper": (
            *published.paper(name, dtype, weight=weight, timed=is_timed),
            bound,
            grids.pairwise(origin="extra", **further),
            edges,
        ),
        "quick": (grids.pairwise(**bearable), edges),
        "smoke": (smoke,),
    }


def _edges(scalars: Axis) -> list[dict[str, Any]]:
    """Zero sizes, scalars that make an operand unread, NaN that must come through."""
    plain = {"transa": "T", "transb": "N", "pad": 2}
    sizes = {"m,n,k": (9, 6, 5)}
    return [
        {**plain, "m,n,k": (0, 4, 4), "alpha,beta": scalars[1]},
        {**plain, "m,n,k": (4, 0, 4), "alpha,beta": scalars[0]},
        {**plain, "m,n,k": (9, 6, 0), "alpha,beta": scalars[2]},
        {**plain, "m,n,k": (9, 6, 0), "alpha,beta": (1.0, 0.0)},
        {**plain, **sizes, "alpha,beta": (0.0, 0.5)},
        {**plain, **sizes, "alpha,beta": (0.0, 0.0)},
        {**plain, **sizes, "alpha,beta": (-0.5, 1.0), "output": "nan"},
        *({**plain, **sizes, "alpha,beta": (-0.5, 0.0), "values": kind} for kind in buffers.EXTREMES),
    ]


def _batch_edges(strided: bool) -> list[dict[str, Any]]:
    plain = {"transa": "N", "transb": "C", "pad": 1, "m,n,k": (9, 6, 5), "alpha,beta": (-0.5, 0.25)}
    more = {"gap": 4} if strided else {"spare": 1}
    empty = {} if strided else {"spare": 1}
    return [{**plain, **empty, "batchCount": 0}, {**plain, **more, "batchCount": 3, "shared": "AB"}]
