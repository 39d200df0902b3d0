"""BLAS storage: column-major matrices and strided vectors in flat buffers, with guard elements around them.

Every matrix and vector of a call is a one-dimensional tensor. Element (i, j) of a matrix with leading dimension `ld` is
at `i + j * ld`; element i of a vector with increment `inc` is at `i * inc`, or at `(i - (n - 1)) * inc` for a negative
one. Buffers are longer than they need be: `TAIL` elements follow, and rows between the matrix and `ld` pad it. In
inputs these are NaN, so that reading them shows; in outputs they hold values that must survive, negative zeros among
them, so that adding zero to them shows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import torch

from kgb_gym.operators.maker import Maker, lay

TAIL = 5
"""Guard elements behind every buffer: odd, so that nothing stays aligned by accident."""

TRAP = {torch.float32: 2.0**-12, torch.complex64: 2.0**-12, torch.float64: 2.0**-30, torch.complex128: 2.0**-30}
"""What the next narrower arithmetic (TF32, fp32) loses of `1 + TRAP`."""

FAR = {"tiny": 2.0**-48, "huge": 2.0**48}
"""Scales far from 1: no number is so small that it may be left out, none so large that it may be cut (the twelfth root
of it in fp16)."""

EXTREMES = ("rare", "tiny", "huge")
"""Values that a kernel must take as they come: none is replaced, left out or bounded."""

NAN = float("nan")

LAYOUTS = ("contiguous", "offset")
"""Where a buffer starts in its storage: at its beginning or three elements in, which breaks 16-byte alignment."""

Scalar = float | complex


def wide(dtype: torch.dtype) -> torch.dtype:
    """The double-precision type of the same kind."""
    return torch.complex128 if dtype.is_complex else torch.float64


def scalar(value: Any, dtype: torch.dtype) -> Scalar:
    """A grid's scalar (a number, or real and imaginary part) as the Python number that is passed."""
    if isinstance(value, (list, tuple)):
        return complex(*value)
    return complex(value) if dtype.is_complex else float(value)


def seen(value: Scalar, dtype: torch.dtype) -> Scalar:
    """The scalar as a routine of that type sees it: rounded to the type."""
    if dtype in (torch.float64, torch.complex128):
        return value
    rounded = torch.tensor(value, dtype=dtype).item()
    assert isinstance(rounded, (float, complex))
    return rounded


def values(make: Maker, size: int, dtype: torch.dtype, kind: str) -> torch.Tensor:
    """`size` values: `normal`; `trap` (signed powers of two times 1 + `TRAP`); `special` (normal with NaN and infinities
    among them); `rare` (the same, one of each in twenty to sixty); `tiny` and `huge` (normal, scaled by `FAR`); `kept`
    (normal, half of them negative zeros); `nan`. Integer types get small integers, and 99 for `nan`. Complex types get
    no infinities: what a product makes of them depends on how it is written.

    Raises:
        ValueError: the kind is unknown.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return make.full((size,), 99, dtype) if kind == "nan" else make.integers((size,), dtype, low=-9, high=10)
    if kind == "special":
        return make.sprinkle(make.normal((size,), dtype), (float("nan"), float("inf"), float("-inf")), share=0.2)
    if kind == "rare":
        return make.sprinkle(make.normal((size,), dtype), (NAN,) if dtype.is_complex else (NAN, -math.inf))
    if kind in FAR:
        factor: float = FAR[kind] if dtype is not torch.float16 else FAR[kind] ** (1 / 12)
        return make.normal((size,), dtype) * factor
    if kind == "normal":
        return make.normal((size,), dtype)
    if kind == "kept":
        numbers = make.normal((size,), dtype)
        return torch.where((numbers.real if dtype.is_complex else numbers) > 0, numbers, -0.0)
    if kind == "nan":
        return make.full((size,), float("nan"), dtype)
    if kind == "trap":
        powers = torch.exp2(make.integers((size,), torch.int64, low=-1, high=2).double())
        powers = torch.where(make.integers((size,), torch.bool), powers, -powers)
        base = powers.to(wide(dtype)) * (1 + 0.5j if dtype.is_complex else 1.0)
        return (base * (1 + TRAP.get(dtype, 0.0))).to(dtype)
    raise ValueError(f"unknown values {kind!r}: use normal, trap, special, rare, tiny, huge, kept or nan")


def matrix(
    make: Maker, rows: int, cols: int, ld: int, dtype: torch.dtype, *, kind: str = "normal", guard: str = "nan",
    layout: str = "contiguous", count: int = 1, stride: int = 0,
) -> torch.Tensor:  # fmt: skip
    """A flat buffer of `count` column-major matrices of `rows` x `cols`, `stride` elements apart.

    Args:
        kind: values of the matrices (see `values`).
        guard: values of the padding rows, of gaps between matrices and of the tail.
        layout: one of `LAYOUTS`.
    """
    size = max(0, count - 1) * stride + ld * cols + TAIL
    buffer = values(make, size, dtype, guard)
    for index in range(count):
        part = columns(buffer, rows, cols, ld, index * stride)
        part.copy_(values(make, rows * cols, dtype, kind).view(rows, cols))
    return lay(buffer, layout)


def vector(
    make: Maker, n: int, inc: int, dtype: torch.dtype, *, kind: str = "normal", guard: str = "nan",
    layout: str = "contiguous",
) -> torch.Tensor:  # fmt: skip
    """A flat buffer of one vector of `n` elements with increment `inc`, gaps and tail filled with `guard`."""
    buffer = values(make, length(n, inc) + TAIL, dtype, guard)
    buffer[positions(n, inc)] = values(make, max(n, 0), dtype, kind)
    return lay(buffer, layout)


def columns(buffer: torch.Tensor, rows: int, cols: int, ld: int, offset: int = 0) -> torch.Tensor:
    """The matrix (rows, cols) that lies column-major in a flat buffer, as a view."""
    return buffer.as_strided((rows, cols), (1, ld), buffer.storage_offset() + offset)


def length(n: int, inc: int) -> int:
    """Elements from the first to the last of a vector."""
    return 1 + (n - 1) * abs(inc) if n > 0 else 0


def positions(n: int, inc: int) -> torch.Tensor:
    """Where elements 0..n-1 of a vector lie in its buffer (int64)."""
    index = torch.arange(max(n, 0))
    return index * inc if inc >= 0 else (index - (n - 1)) * inc


def symmetric(half: torch.Tensor, uplo: int) -> torch.Tensor:
    """The symmetric (not Hermitian) matrix of which one triangle is given, 0 the lower and 1 the upper one."""
    strict = torch.triu(half, 1) if uplo else torch.tril(half, -1)
    return strict + strict.mT + torch.diag(half.diagonal())


def in_triangle(n: int, uplo: int) -> torch.Tensor:
    """Bool mask (n, n) of one triangle with its diagonal, 0 the lower and 1 the upper one."""
    full = torch.ones(n, n, dtype=torch.bool)
    return torch.triu(full) if uplo else torch.tril(full)


def hide(matrix: torch.Tensor, uplo: int, guard: float, *, diagonal: bool = False) -> None:
    """Fill the triangle that a routine must not refer to; with `diagonal` the diagonal as well."""
    unread = ~in_triangle(matrix.shape[0], uplo)
    if diagonal:
        unread.fill_diagonal_(True)
    matrix.masked_fill_(unread, guard)


def transposed(matrix: torch.Tensor, op: str | int) -> torch.Tensor:
    """op(matrix): `N` or 0 itself, `T` or 1 its transpose, `C` or 2 its conjugate transpose.

    Raises:
        ValueError: the op is unknown.
    """
    if op not in ("N", "T", "C", 0, 1, 2):
        raise ValueError(f"unknown op {op!r}: use N, T or C")
    if op in ("N", 0):
        return matrix
    return matrix.mT.conj() if op in ("C", 2) else matrix.mT


def stored(op: str | int, rows: int, cols: int) -> tuple[int, int]:
    """Rows and columns in storage of a matrix whose op(matrix) is `rows` x `cols`."""
    return (rows, cols) if op in ("N", 0) else (cols, rows)


def jitter_size(rng: random.Random, size: int) -> int:
    """Another size: moved by up to a quarter (at least 2), never below 1."""
    step = max(2, size // 4)
    return max(1, size + rng.randint(-step, step))


def jitter_scalar(rng: random.Random, dtype: str) -> float | list[float]:
    """A scalar of magnitude 0.25 to 2 that no grid holds; two parts for complex types."""

    def part() -> float:
        return rng.choice((-1, 1)) * round(rng.uniform(0.25, 2.0), 3)

    return [part(), part()] if dtype.startswith("complex") else part()


Change = Callable[[torch.Tensor], torch.Tensor]


def passed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call without what a judge adds to them."""
    return {name: value for name, value in arguments.items() if name != "outputs"}


def magnitudes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with tensors and the scalars alpha and beta replaced by their absolute values."""
    out = passed(arguments)
    for name, value in tuple(out.items()):
        if isinstance(value, torch.Tensor):
            out[name] = value.to(wide(value.dtype)).abs()
        elif name in ("alpha", "beta"):
            out[name] = abs(value)
    return out
