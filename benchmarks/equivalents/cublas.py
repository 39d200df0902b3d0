"""Mutants of the gold kernels of cuBLAS operators that compute the same."""

from __future__ import annotations

from benchmarks.equivalents.declaration import Equivalent

_FACTOR = (
    "lanes past the end of the sum have a filler of 0 in the other factor, and rows and columns past the matrix are not "
    "stored"
)
_VECTOR = "the last axis of a vector is its first"
_PRODUCTS = (
    "cublas/Cgemm_v2",
    "cublas/Csymm_v2",
    "cublas/CsyrkEx",
    "cublas/DgemmStridedBatched",
    "cublas/DgemmStridedBatched_64",
    "cublas/HgemmBatched",
    "cublas/HgemmStridedBatched",
    "cublas/SgemmEx",
    "cublas/SgemmStridedBatched",
    "cublas/Ssyrk_v2",
)

CUBLAS: tuple[Equivalent, ...] = (
    Equivalent(_PRODUCTS, "constant_off_by_one", "0.0", "1.0", _FACTOR),
    Equivalent(_PRODUCTS, "constant_off_by_one", "0.0", "-1.0", _FACTOR),
    Equivalent(("cublas/Dasum_v2",), "constant_off_by_one", "0", "-1", _VECTOR),
)  # fmt: skip
