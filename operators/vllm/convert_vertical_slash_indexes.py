"""Vertical and slash indices of sparse attention as blocks and columns (vLLM `convert_vertical_slash_indexes`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.compare import Exact
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families.entry import axes, entry


def build(
    make: Maker, *, batch: int, heads: int, q: int, kv: int, verticals: int, slashes: int, block_m: int, block_n: int,
    causal: bool = True, ragged: bool = False, near: int = 0,
) -> Call:  # fmt: skip
    """Sequences of up to q queries and kv keys (as many fewer of both where `ragged`); indices below kv, or below
    `near`, which makes repetitions."""
    queries, keys = torch.full((batch,), q, dtype=torch.int32), torch.full((batch,), kv, dtype=torch.int32)
    if ragged:
        shorter = make.integers((batch,), torch.int32, low=0, high=q)
        shorter[0] = 0
        queries, keys = queries - shorter, keys - shorter
    top = near or int(keys.min())
    vertical = make.integers((batch, heads, verticals), torch.int32, low=0, high=min(top, int(keys.min())))
    slash = make.integers((batch, heads, slashes), torch.int32, low=0, high=top)
    return make.call(
        queries, keys, vertical.sort(-1).values, slash.sort(-1, descending=True).values, q, block_m, block_n, causal
    )


def oracle(
    q_seqlens: torch.Tensor, kv_seqlens: torch.Tensor, vertical_indexes: torch.Tensor, slash_indexes: torch.Tensor,
    context_size: int, block_size_M: int, block_size_N: int, causal: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """The four tables; entries beyond a row's counts are zero."""
    batch, heads, verticals = vertical_indexes.shape
    slashes = slash_indexes.shape[2]
    rows = -(-context_size // block_size_M)
    counts = [torch.zeros(batch, heads, rows, dtype=torch.int32) for _ in range(2)]
    tables = [torch.zeros(batch, heads, rows, n, dtype=torch.int32) for n in (slashes, verticals)]
    for b in range(batch):
        lengths = int(q_seqlens[b]), int(kv_seqlens[b])
        for h in range(heads):
            lines = vertical_indexes[b, h].tolist(), slash_indexes[b, h].tolist()
            for m in range(-(-min(lengths[0], context_size) // block_size_M)):
                for count, table, found in zip(
                    counts, tables, row(*lines, *lengths, m, block_size_M, block_size_N, causal), strict=True
                ):
                    count[b, h, m] = len(found)
                    table[b, h, m, : len(found)] = torch.tensor(found)
    return {"return": (counts[0], tables[0], counts[1], tables[1])}


def row(
    verticals: list[int], slashes: list[int], q: int, kv: int, m: int, height: int, width: int, causal: bool
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Block offsets and columns of the m-th `height` queries: slashes make ranges [lo, hi) of keys, covered by blocks of
    `width`; verticals outside them are columns."""
    blocks: list[int] = []
    columns: list[int] = []
    top = (m + 1) * height + (kv - q if causal else kv)

    def end(x: int) -> int:
        return max(top - x, height)

    def flush(lo: int, hi: int) -> None:
        if lo < kv:
            blocks.extend(range(lo, min(hi, kv), width))

    current, s = slashes[0], 1
    while current >= top and s < len(slashes):
        current, s = slashes[s], s + 1
    if current > top:
        lo = top if causal else kv
        hi = lo + width
    else:
        hi = end(current)
        lo = hi - height
    vertical, taken = verticals[0], 1
    tail = False
    while True:
        while vertical < hi:
            if vertical < lo:
                columns.append(vertical)
            if taken < len(verticals):
                vertical, taken = verticals[taken], taken + 1
            else:
                vertical = top + width
        if s < len(slashes) and (causal or slashes[s] >= m * height):
            further, s = end(slashes[s]), s + 1
            if tail:
                continue
            if further > hi + height:
                flush(lo, hi)
                lo, hi = further - height, further
            elif further > hi:
                hi += height
        elif causal or taken == len(verticals):
            if not causal and vertical < kv:
                columns.append(vertical)
            flush(lo, hi)
            return blocks, columns
        else:
            flush(lo, hi)
            lo, hi, tail = kv, kv + width, True


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other lengths, numbers of lines and blocks."""
    height = rng.choice((4, 8, 16))
    q = rng.randint(1, 5 * height)
    return {
        **params,
        "batch": rng.randint(1, 3),
        "heads": rng.randint(1, 3),
        "q": q,
        "kv": q + rng.randint(0, 40),
        "verticals": rng.randint(1, 12),
        "slashes": rng.randint(1, 12),
        "block_m": height,
        "block_n": height * rng.choice((1, 1, 2)),
        "causal": rng.random() < 0.5,
        "near": rng.choice((0, 4)),
    }


GEOMETRY = "batch,q,kv,block_m,block_n"
PUBLISHED = (
    (2, 4, 8, 4, 4), (4, 8, 16, 4, 4), (2, 8, 16, 8, 8), (4, 16, 32, 8, 8), (2, 4, 16, 4, 4), (4, 32, 64, 8, 8),
    (8, 16, 32, 8, 8), (8, 32, 64, 16, 16), (8, 32, 64, 8, 8), (8, 64, 128, 8, 8), (16, 32, 64, 8, 8),
    (16, 64, 128, 16, 16),
)  # fmt: skip
_LINES = axes("heads,verticals,slashes", ((4, 4, 4),))
_AWKWARD: dict[str, Any] = {"causal": (True, False), "ragged": (False, True), "near": (0, 18)}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(GEOMETRY, [g for g in PUBLISHED if g[0] >= 4 and g[1] >= 16]), **_LINES),
        grids.product(**axes(GEOMETRY, [g for g in PUBLISHED if g[0] < 4 or g[1] < 16]), **_LINES),
        grids.product(
            origin="extra",
            **axes(
                GEOMETRY + ",heads,verticals,slashes",
                ((1, 300, 300, 64, 64, 2, 30, 30), (2, 100, 1000, 64, 64, 3, 100, 40), (3, 33, 90, 16, 16, 2, 1, 1),
                 (2, 64, 200, 16, 32, 1, 9, 20), (1, 1, 50, 16, 16, 1, 7, 3)),
            ),
            **_AWKWARD,
        ),
    ),
    "quick": (
        grids.pairwise(
            **axes(
                GEOMETRY + ",heads,verticals,slashes",
                ((2, 20, 20, 16, 16, 1, 6, 6), (1, 30, 100, 16, 16, 2, 12, 8), (3, 10, 40, 16, 16, 1, 1, 1),
                 (1, 60, 130, 16, 32, 1, 9, 12), (1, 1, 50, 16, 16, 1, 7, 3), (3, 40, 200, 8, 8, 1, 10, 2)),
            ),
            **_AWKWARD, seed=1,
        ),
        grids.product(
            **axes(GEOMETRY + ",heads,verticals,slashes", ((1, 30, 90, 8, 8, 1, 10, 5), (1, 12, 200, 4, 4, 1, 20, 9))),
            causal=(True, False), near=(0, 40),
        ),
    ),
    "smoke": (
        grids.points(
            {GEOMETRY: (1, 8, 16, 4, 4), "heads": 1, "verticals": 4, "slashes": 4},
            {GEOMETRY: (1, 8, 30, 4, 4), "heads": 2, "verticals": 5, "slashes": 3, "causal": False},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "convert_vertical_slash_indexes(q_seqlens: torch.Tensor, kv_seqlens: torch.Tensor, vertical_indexes: torch.Tensor, "
    "slash_indexes: torch.Tensor, context_size: int, block_size_M: int, block_size_N: int, causal: bool = True) -> "
    "tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]",
    build=build,
    oracle=oracle,
    grids=GRIDS,
    jitter=jitter,
    compare=Exact(),
    description=(
        "For every batch item, head and block of M queries: which blocks of N keys the diagonals (slashes) touch, and "
        "which single keys (verticals) lie outside these. Returns (block_count, block_offset, column_count, "
        "column_index)."
    ),
    notes=(
        (
            "All tensors are int32. q_seqlens and kv_seqlens are (B,), vertical_indexes is (B, H, V), ascending, "
            "slash_indexes (B, H, S), descending, repetitions occur. With R = ceil(context_size / M) the counts are "
            "(B, H, R), block_offset is (B, H, R, S), column_index (B, H, R, V). Entries beyond a row's counts are 0, as "
            "are the counts of rows with m * M >= q. M <= N."
        ),
        (
            "Row m, with q and kv the item's lengths, V[i] and S[i] its lines, top = (m + 1) * M + (kv - q if causal else "
            "kv), end(x) = max(top - x, M):\n"
            "  flush(lo, hi): if lo < kv, append lo, lo + N, lo + 2N, ... below min(hi, kv) to block_offset\n"
            "  1. cur = S[0], p = 1; while cur >= top and p < len(S): cur = S[p], p += 1.\n"
            "     If cur > top: lo = (top if causal else kv), hi = lo + N; else hi = end(cur), lo = hi - M.\n"
            "     v = V[0], taken = 1, tail = False.\n"
            "  2. While v < hi: append v to column_index if v < lo; then v = V[taken], taken += 1 if taken < len(V), else "
            "v = top + N."
        ),
        (
            "  3. If p < len(S) and (causal or S[p] >= m * M): e = end(S[p]), p += 1; unless tail: if e > hi + M: "
            "flush(lo, hi), lo = e - M, hi = e; else if e > hi: hi += M. Go to 2.\n"
            "  4. Otherwise, if causal: flush(lo, hi), done. If not causal and taken == len(V): append v to column_index "
            "if v < kv, flush(lo, hi), done. Else flush(lo, hi), lo = kv, hi = kv + N, tail = True, go to 2."
        ),
    ),
    family="sparse_attention_indexes",
    data_dependent=False,
)
