"""Mutants that no grid can kill, because they compute the same: each with the reason in writing.

`benchmarks.mutation` counts them apart, and judges every one of them on further seeds first (see `AGREEMENT_SEEDS`): one
that fails there is no equivalent. They may be at most `MAX_SHARE` of all mutants.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.mutators import Mutant

AGREEMENT_SEEDS = 4
"""Further seeds of the whole `quick` suite, each with hidden cases of its own, on which an equivalent must pass."""
MAX_SHARE = 0.05


@dataclass(frozen=True)
class Equivalent:
    """One mutant, or the same one in several operators."""

    operators: tuple[str, ...]
    mutator: str
    before: str
    after: str
    reason: str


_PROMOTED = "the other operand of the expression is fp32 (or fp64), so that Triton's promotion makes the same cast"
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
_COMPARED = "the smaller type's values are exact in the larger one, and a comparison promotes its operands by itself"

EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent(
        ("aten/item", "aten/_local_scalar_dense"), "constant_off_by_one", "0", "-1",
        "the first of one element is the last",
    ),
    Equivalent(
        ("aten/add", "aten/add_", "aten/sub", "aten/rsub"), "missing_cast", "x.to(tl.float32)", "x", _PROMOTED,
    ),
    Equivalent(
        ("aten/log_sigmoid_backward", "aten/mish_backward", "aten/softplus_backward"), "missing_cast", "grad.to(work)",
        "grad", _PROMOTED,
    ),
    Equivalent(("aten/fmax",), "missing_cast", "a.to(work)", "a", _COMPARED),
    Equivalent(("aten/fmax",), "missing_cast", "b.to(work)", "b", _COMPARED),
    Equivalent(
        ("aten/eq", "aten/gt", "aten/le"), "missing_cast",
        "a.to(tl.float64 if a.dtype == tl.float64 or b.dtype == tl.float64 else tl.float32)", "a", _COMPARED,
    ),
    Equivalent(("aten/amin",), "mask_off_by_one", "x < low", "x <= low", "of two equal minima either is the minimum"),
    Equivalent(
        ("aten/huber_loss",), "swapped_operands", "x - t", "t - x", "only the absolute value of the difference is used",
    ),
    Equivalent(
        ("aten/empty_strided", "aten/new_empty_strided"), "constant_off_by_one", "1", "2",
        "memory one element larger than needed: its size is not promised",
    ),
    Equivalent(
        ("aten/mish",), "constant_off_by_one", "20.0", "21.0",
        "where the argument is above the cut-off, both branches round to the same number",
    ),
    Equivalent(
        ("aten/mish",), "constant_off_by_one", "20.0", "19.0",
        "where the argument is above the cut-off, both branches round to the same number",
    ),
    Equivalent(
        ("aten/mish_backward",), "constant_off_by_one", "20", "19",
        "where the argument is above the cut-off, both branches round to the same number",
    ),
    Equivalent(_PRODUCTS, "constant_off_by_one", "0.0", "1.0", _FACTOR),
    Equivalent(_PRODUCTS, "constant_off_by_one", "0.0", "-1.0", _FACTOR),
    Equivalent(("cublas/Dasum_v2",), "constant_off_by_one", "0", "-1", _VECTOR),
)  # fmt: skip


def reason(operator: str, mutant: Mutant) -> str:
    """Why a mutant is equivalent; empty if it is not listed."""
    for item in EQUIVALENTS:
        same = (item.mutator, item.before, item.after) == (mutant.mutator, mutant.before, mutant.after)
        if same and operator in item.operators:
            return item.reason
    return ""
