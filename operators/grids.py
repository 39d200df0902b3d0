"""Parameter grids: Cartesian products, pairwise coverings and the shapes of the paper's Tables 9 and 10.

Points are plain JSON values (dtypes by name, shapes as lists), so that they can stand in verdicts and datasets as they
are. A point may carry an `origin` of its own, which goes before its grid's and is no parameter.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

Params = Mapping[str, Any]

# Shapes of the paper's Table 9, by operator category.
POINTWISE = ((), (1,), (1024, 1024), (20, 320, 15), (16, 128, 64, 60), (16, 7, 57, 32, 29))
REDUCTION = ((1, 2), (4096, 256), (200, 40999, 3))
REDUCTION_SMALL = ((1, 2), (4096, 256), (200, 2560, 3))
BLAS_MN = ((1, 32), (160, 1024), (5333, 497))
BLAS_MNK = ((1, 1, 32), (15, 160, 1024), (495, 5333, 71))

FLOATS = ("float16", "float32", "bfloat16")

REAL = frozenset({*FLOATS, "float64", "bool", "uint8", "int8", "int16", "int32", "int64"})
"""Every type but complex ones and 8-bit floats."""
NUMBERS = REAL - {"bool"}
WHOLE = frozenset({"uint8", "int8", "int16", "int32", "int64"})
FLOATING = frozenset(FLOATS)
"""The types in which floating-point kernels customarily compute: by way of fp32, and back."""


@dataclass(frozen=True)
class Grid:
    """A list of parameter points with one origin."""

    points: tuple[Params, ...]
    origin: str = "paper"
    timed: bool = False

    def where(self, keep: Callable[[Params], bool]) -> Grid:
        """The points for which `keep` is true."""
        return replace(self, points=tuple(p for p in self.points if keep(p)))

    def beyond(self, which: Callable[[Params], bool] = lambda point: True) -> Grid:
        """The grid with those of its points marked as more than a clean pass asks."""
        return replace(self, points=tuple({**p, "origin": "beyond"} if which(p) else p for p in self.points))


def product(*, origin: str = "paper", timed: bool = False, **axes: Sequence[Any]) -> Grid:
    """Cartesian product of the axes, first axis outermost. An axis name with commas sets several parameters at once:
    `product(**{"m,n,k": [(1, 1, 32)]})`."""
    return Grid(
        tuple(_spread(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())),
        origin,
        timed,
    )


def points(*items: Params, origin: str = "extra", timed: bool = False) -> Grid:
    """The points as given."""
    return Grid(tuple(_spread(item) for item in items), origin, timed)


def pairwise(*, origin: str = "paper", timed: bool = False, seed: int = 0, **axes: Sequence[Any]) -> Grid:
    """A small set of points in which every pair of values of any two axes occurs at least once.

    Greedy covering, deterministic for one `seed`; axes named as in `product`.
    """
    names = list(axes)
    values = [list(axes[n]) for n in names]
    rng = random.Random(seed)
    open_pairs = {
        (i, a, j, b)
        for i, j in itertools.combinations(range(len(names)), 2)
        for a in range(len(values[i]))
        for b in range(len(values[j]))
    }
    if len(names) == 1:
        return product(origin=origin, timed=timed, **axes)
    rows: list[tuple[int, ...]] = []
    while open_pairs:
        best: tuple[int, ...] = ()
        gain = -1
        left = sorted(open_pairs)
        for _ in range(40):
            i, a, j, b = rng.choice(left)
            row = [-1] * len(names)
            row[i], row[j] = a, b
            order = [k for k in range(len(names)) if k not in (i, j)]
            rng.shuffle(order)
            for k in order:
                scores = [(_covered(row, k, v, open_pairs), rng.random(), v) for v in range(len(values[k]))]
                row[k] = max(scores)[2]
            new = sum(p in open_pairs for p in _pairs(row))
            if new > gain:
                best, gain = tuple(row), new
        rows.append(best)
        open_pairs -= set(_pairs(best))
    return Grid(
        tuple(_spread({n: values[k][row[k]] for k, n in enumerate(names)}) for row in sorted(rows)), origin, timed
    )


def dtype_of(value: Any) -> Any:
    """A dtype's name as `torch.dtype`; lists of numbers and all else as they are (lists become tuples)."""
    if isinstance(value, str) and value in DTYPES:
        return DTYPES[value]
    if isinstance(value, list):
        return tuple(dtype_of(v) for v in value)
    return value


def plain_value(value: Any) -> Any:
    """The inverse of `dtype_of`: JSON values only."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple, torch.Size)):
        return [plain_value(v) for v in value]
    return value


DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool,
        torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float8_e4m3fn, torch.float8_e5m2,
    )
}  # fmt: skip


ROLES = frozenset({"index_dtype", "indices_dtype", "mask_dtype", "start_dtype"})
"""Parameters that are the types of indices and masks: they say nothing of the values' types."""


def unusual(params: Params, usual: frozenset[str]) -> bool:
    """Whether a parameter is, or holds, a dtype that is not usual; or what belongs to special layouts: the bits of complex
    tensors' views (where complex types are not usual) and memory formats of channels."""
    if (params.get("bit") and "complex64" not in usual) or str(params.get("memory_format")).startswith("channels"):
        return True
    return not named_dtypes(params) <= usual


def named_dtypes(params: Params) -> frozenset[str]:
    """Names of the types of values that the parameters are or hold, without those of indices and masks."""
    values = [value for name, value in params.items() if name not in ROLES]
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return frozenset(part for part in parts if isinstance(part, str) and part in DTYPES)


def in_single(point: Params) -> Params:
    """The point with float32 in the place of float64."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(v) for v in value]
        return "float32" if value == "float64" else value

    return {name: plain(value) for name, value in point.items()}


def jitter_shape(rng: random.Random, shape: Sequence[int], limit: int = 4096) -> list[int]:
    """Another shape of the same rank: every size moved by up to a quarter (at least 2), never below 1.

    `limit` bounds the number of elements: sizes are halved, largest first, until it holds.
    """
    sizes = [max(1, s + rng.randint(-max(2, s // 4), max(2, s // 4))) for s in shape]
    while sizes and _count(sizes) > limit:
        largest = sizes.index(max(sizes))
        sizes[largest] = max(1, sizes[largest] // 2)
    return sizes


def _count(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _spread(point: Params) -> Params:
    out: dict[str, Any] = {}
    for name, value in point.items():
        if "," in name:
            out.update({n.strip(): plain_value(v) for n, v in zip(name.split(","), value, strict=True)})
        else:
            out[name] = plain_value(value)
    return out


def _pairs(row: Sequence[int]) -> list[tuple[int, int, int, int]]:
    return [(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(row)), 2)]


def _covered(row: list[int], k: int, v: int, open_pairs: set[tuple[int, int, int, int]]) -> int:
    total = 0
    for other, value in enumerate(row):
        if other == k or value < 0:
            continue
        total += ((k, v, other, value) if k < other else (other, value, k, v)) in open_pairs
    return total
