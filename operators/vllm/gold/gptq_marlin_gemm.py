import torch
import triton
import triton.language as tl


@triton.jit
def marlin_kernel(
    out,
    a,
    weight,
    bias,
    scales,
    zeros,
    index,
    perm,
    M,
    N,
    K,
    a_stride,
    group_size,
    code_bias,
    BITS: tl.constexpr,
    CHANNEL: tl.constexpr,
    ZEROS: tl.constexpr,
    FLOAT_ZEROS: tl.constexpr,
    PERM: tl.constexpr,
    INDEXED: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = (m < M)[:, None]
    PACK: tl.constexpr = 32 // BITS
    TOP: tl.constexpr = (1 << BITS) - 1
    # Places of a column: among grouped scales, and among those of one group.
    grouped = n // 64 * 64 + n % 8 * 8 + n % 64 // 8
    single = n // 32 * 32 + n % 8 // 2 * 8 + n % 32 // 8 * 2 + n % 2
    half = n % 16 // 8
    if BITS == 4:
        zero_shift = grouped % 8 // 2 * 4 + grouped % 2 * 16
        word_n = n // 64 * 128 + n % 8 * 16 + n % 64 // 16
    else:
        zero_shift = grouped % 4 // 2 * 8 + grouped % 2 * 16
        word_n = n // 64 * 256 + n % 8 * 32 + n % 64 // 16 * 2 + half
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        i = k % 16 // 8 * 2 + k % 2
        word_k = (k // 16).to(tl.int64) * (N * 16 // PACK) + k % 8 // 2 * (32 // PACK)
        if BITS == 4:
            shift = (i // 2 * 4 + i % 2 * 16)[:, None] + (half * 8)[None, :]
        else:
            shift = (i // 2 * 8 + i % 2 * 16)[:, None]
        code = (tl.load(weight + word_k[:, None] + word_n[None, :]) >> shift) & TOP
        if INDEXED:
            group = tl.load(index + k).to(tl.int64)
        else:
            group = (k // group_size).to(tl.int64)
        place = single if CHANNEL else grouped
        scale = tl.load(scales + group[:, None] * N + place[None, :]).to(tl.float32)
        if FLOAT_ZEROS:
            distance = code.to(tl.float32) - tl.load(zeros + group[:, None] * N + grouped[None, :]).to(tl.float32)
        elif ZEROS:
            zero = tl.load(zeros + group[:, None] * (N // PACK) + (grouped // PACK)[None, :]) >> zero_shift[None, :]
            distance = (code - (zero & TOP)).to(tl.float32)
        else:
            distance = (code - code_bias).to(tl.float32)
        if PERM:
            column = tl.load(perm + k)
        else:
            column = k
        left = tl.load(a + m[:, None] * a_stride + column[None, :], mask=rows, other=0.0)
        total = tl.dot(left, (distance * scale).to(left.dtype), total)
    if BIAS:
        total += tl.load(bias + single).to(tl.float32)[None, :]
    tl.store(out + m[:, None] * N + n[None, :], total.to(out.dtype.element_ty), mask=rows)


def filled(tensor):
    return tensor is not None and tensor.numel() > 0


def gptq_marlin_gemm(
    a,
    c,
    b_q_weight,
    b_bias,
    b_scales,
    a_scales,
    global_scale,
    b_zeros,
    g_idx,
    perm,
    workspace,
    b_q_type,
    size_m,
    size_n,
    size_k,
    is_k_full=True,
    use_atomic_add=False,
    use_fp32_reduce=False,
    is_zp_float=False,
):
    out = c if c is not None else torch.empty((size_m, size_n), dtype=a.dtype, device=a.device)
    if size_m == 0:
        return out
    groups = b_scales.shape[0]
    zeros = filled(b_zeros)
    ordered = filled(g_idx) and filled(perm)
    block_m = 16 if size_m <= 48 else 64
    marlin_kernel[(triton.cdiv(size_m, block_m), size_n // 64)](
        out,
        a,
        b_q_weight,
        b_bias if b_bias is not None else a,
        b_scales,
        b_zeros if zeros else b_q_weight,
        g_idx if ordered else b_q_weight,
        perm if ordered else b_q_weight,
        size_m,
        size_n,
        size_k,
        a.stride(0),
        size_k // groups,
        b_q_type.bias,
        BITS=b_q_type.size_bits,
        CHANNEL=groups == 1,
        ZEROS=zeros,
        FLOAT_ZEROS=zeros and is_zp_float,
        PERM=ordered,
        INDEXED=ordered and not is_k_full,
        BIAS=b_bias is not None,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=64,
    )
    return out
