"""Mutants of the gold kernels of vLLM operators that compute the same."""

from __future__ import annotations

from benchmarks.equivalents.declaration import Equivalent

_PROMOTED = "the other operand of the expression is fp32 (or fp64), so that Triton's promotion makes the same cast"
_FACTOR = (
    "lanes past the end of the sum have a filler of 0 in the other factor, and rows and columns past the matrix are not "
    "stored"
)

VLLM: tuple[Equivalent, ...] = (
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
        ("vllm/rms_norm", "vllm/rms_norm_dynamic_per_token_quant", "vllm/rms_norm_per_block_quant"),
        "constant_off_by_one", "0.0", "1.0", "the filler of a weight meets a filler of 0 in the row",
        "tl.load(weight + columns",
    ),
    Equivalent(
        ("vllm/rms_norm",), "constant_off_by_one", "0.0", "-1.0", "the filler of a weight meets a filler of 0 in the row",
        "tl.load(weight + columns",
    ),
    Equivalent(("vllm/rms_norm",), "constant_off_by_one", "0", "-1", "the last axis of a vector is its first", "axis=-1"),
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
