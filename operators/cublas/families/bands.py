"""Band matrices: diagonals as the rows of a column-major array of k + 1 rows.

Of an upper band, element (i, j) is at row k + i - j of column j; of a lower one at row i - j. The corners of the array
that belong to no element are never read.
"""

from __future__ import annotations

import torch

from kgb_gym.operators.cublas.families import buffers
from kgb_gym.operators.maker import Maker, lay

LAYOUT = (
    "A is stored by its diagonals: a column-major array of k + 1 rows and n columns in a one-dimensional buffer, with "
    "leading dimension lda >= k + 1. For uplo = 0 (lower), A(i, j) with j <= i <= min(n-1, j+k) is at index (i - j) + "
    "j*lda; for uplo = 1 (upper), A(i, j) with max(0, j-k) <= i <= j is at index (k + i - j) + j*lda. All other places "
    "hold NaN and are not read."
)


def stored(
    make: Maker, n: int, k: int, uplo: int, pad: int, dtype: torch.dtype, values: str, layout: str
) -> tuple[torch.Tensor, int]:
    """A band's buffer, NaN wherever no element lies, and its leading dimension."""
    lda = k + 1 + pad
    buffer = buffers.values(make, lda * max(n, 0) + buffers.TAIL, dtype, "nan")
    for distance in range(min(k + 1, n)):
        diagonal_of(buffer, lda, n, k, uplo, distance).copy_(buffers.values(make, n - distance, dtype, values))
    return lay(buffer, layout), lda


def times(
    band: torch.Tensor, lda: int, n: int, k: int, uplo: int, x: torch.Tensor, *, transposed: bool = False,
    diagonal: bool = True, unit: bool = False,
) -> torch.Tensor:  # fmt: skip
    """The triangular band (or its transpose) times a vector; without its `diagonal`, or with one of ones."""
    out = torch.zeros_like(x)
    if unit:
        out += x
    elif diagonal and n > 0:
        out += diagonal_of(band, lda, n, k, uplo, 0) * x
    for distance in range(1, min(k + 1, n)):
        part = diagonal_of(band, lda, n, k, uplo, distance)
        if bool(uplo) != transposed:  # elements right of the diagonal: (i, i + distance)
            out[: n - distance] += part * x[distance:]
        else:
            out[distance:] += part * x[: n - distance]
    return out


def diagonal_of(buffer: torch.Tensor, lda: int, n: int, k: int, uplo: int, distance: int) -> torch.Tensor:
    """The elements at one distance from the main diagonal, as a view."""
    first = k - distance + distance * lda if uplo else distance
    return buffer.as_strided((n - distance,), (lda,), buffer.storage_offset() + first)
