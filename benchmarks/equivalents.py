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
    Equivalent(
        ("vllm/allspark_w8a16_gemm",), "missing_cast", "tl.load(scales + stored, mask=columns).to(tl.float32)",
        "tl.load(scales + stored, mask=columns)", _PROMOTED,
    ),
    Equivalent(("vllm/cutlass_scaled_mm",), "constant_off_by_one", "0.0", "-1.0", _FACTOR),
    Equivalent(("vllm/cutlass_scaled_mm_azp",), "constant_off_by_one", "0", "-1", _FACTOR),
    Equivalent(
        ("vllm/hadacore_transform",), "mask_off_by_one", "tl.arange(0, N) < N", "tl.arange(0, N) <= N",
        "the numbers below N are below N either way",
    ),
    Equivalent(
        ("vllm/hadacore_transform",), "constant_off_by_one", "0.0", "1.0",
        "a masked row mixes with no other and is not stored",
    ),
    Equivalent(
        ("vllm/merge_attn_states",), "constant_off_by_one", "0.0", "1.0", "a masked row mixes with no other and is not stored",
    ),
    Equivalent(
        ("vllm/merge_attn_states",), "constant_off_by_one", "0.0", "-1.0", "a masked row mixes with no other and is not stored",
    ),
    Equivalent(
        ("vllm/gptq_gemm",), "missing_cast", "(code - zero).to(tl.float32)", "code - zero", _PROMOTED,
    ),
    Equivalent(("vllm/gptq_marlin_gemm",), "missing_cast", "code.to(tl.float32)", "code", _PROMOTED),
    Equivalent(
        ("vllm/permute_cols",), "dropped_mask", "tl.load(a + row + origin, mask=mask)", "tl.load(a + row + origin)",
        "a masked lane's origin is 0: it reads the row's first element and is not stored",
    ),
    Equivalent(
        ("vllm/cp_gather_indexer_k_quant_cache",), "dropped_mask", "tl.load(cu_seq_lens + sequence, mask=live)",
        "tl.load(cu_seq_lens + sequence)",
        "a token past the last one has as its sequence the number of all, which cu_seq_lens has an element for, and is "
        "not stored",
    ),
    Equivalent(
        ("vllm/rms_norm_dynamic_per_token_quant", "vllm/rms_norm_per_block_quant"), "constant_off_by_one", "128.0",
        "127.0", "numbers divided by a 127th of the largest of them round to -127 at least",
    ),
    Equivalent(
        ("vllm/rms_norm_dynamic_per_token_quant", "vllm/rms_norm_per_block_quant"), "constant_off_by_one", "0.0", "1.0",
        "the filler of a weight meets a filler of 0 in the row",
    ),
    Equivalent(
        ("vllm/paged_attention_v2",), "constant_off_by_one", "0.0", "1.0",
        "a partition past the end has the weight exp(-1e30 - largest), which is 0, or no partition has a value but 0",
    ),
    Equivalent(
        ("vllm/selective_scan_fwd",), "constant_off_by_one", "0.0", "-1.0",
        "lanes past the state have a filler of 0 in the other factors, and channels past the last are not stored",
    ),
    Equivalent(
        ("vllm/cp_gather_cache", "vllm/cp_gather_indexer_k_quant_cache"), "mask_off_by_one", "ends < batch",
        "ends < batch - 1", "no token lies past the end of the last sequence, so that this end is never counted",
    ),
    Equivalent(
        ("vllm/cutlass_scaled_mm",), "dropped_mask",
        "tl.load(scale_b + start // 128 * b_scale_row + n // 128 * b_scale_block, mask=columns)",
        "tl.load(scale_b + start // 128 * b_scale_row + n // 128 * b_scale_block)",
        "with scales of blocks N is a multiple of 128: no column is masked",
    ),
    Equivalent(
        ("vllm/cutlass_scaled_mm", "vllm/cutlass_scaled_mm_azp"), "wrong_operator", "scale_b + n * 0",
        "scale_b - n * 0", "0 is added or taken away",
    ),
)  # fmt: skip


def reason(operator: str, mutant: Mutant) -> str:
    """Why a mutant is equivalent; empty if it is not listed."""
    for item in EQUIVALENTS:
        same = (item.mutator, item.before, item.after) == (mutant.mutator, mutant.before, mutant.after)
        if same and operator in item.operators:
            return item.reason
    return ""
