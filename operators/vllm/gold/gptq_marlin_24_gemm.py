import torch
import triton
import triton.language as tl


@triton.jit
def sparse_kernel(
    out,
    a,
    weight,
    meta,
    scales,
    M,
    N,
    K,
    group_size,
    code_bias,
    BITS: tl.constexpr,
    CHANNEL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = (m < M)[:, None]
    PACK: tl.constexpr = 32 // BITS
    high = n % 8 // 4
    place = n if CHANNEL else n // 8 * 8 + n % 4 * 2 + high
    if BITS == 4:
        word_n = n // 64 * 128 + n % 64 // 8 * 16 + n % 4
    else:
        word_n = n // 64 * 256 + n % 64 // 8 * 32 + n % 4 * 2 + high
    meta_n = (n // 64 * 64 + n % 2 * 2 + high + n % 4 // 2 * 32 + n % 64 // 8 * 4)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        c = (k // 16)[:, None]
        # An odd row of an even element changes places with the even row of the next one.
        step = c % 2 - meta_n % 2
        meta_c = (c - step).to(tl.int64)
        element = tl.load(meta + meta_c // 2 * (2 * N) + 2 * (meta_n + step) + meta_c % 2).to(tl.int32)
        quad = element >> (k % 16 // 4 * 4)[:, None]
        position = (k % 4)[:, None]
        first = position == (quad & 3)
        second = position == ((quad >> 2) & 3)
        kept = (k // 4 * 2)[:, None] + tl.where(second, 1, 0)
        i = kept % 16 // 8 * 2 + kept % 2
        word = (kept // 16).to(tl.int64) * (N * 16 // PACK) + kept % 8 // 2 * (32 // PACK) + word_n[None, :]
        if BITS == 4:
            shift = i // 2 * 4 + i % 2 * 16 + (high * 8)[None, :]
        else:
            shift = i // 2 * 8 + i % 2 * 16
        code = (tl.load(weight + word) >> shift) & ((1 << BITS) - 1)
        scale = tl.load(scales + (k // group_size)[:, None] * N + place[None, :]).to(tl.float32)
        w = tl.where(first | second, (code - code_bias).to(tl.float32) * scale, 0.0)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=rows, other=0.0)
        total = tl.dot(left, w.to(tl.float16), total)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16), mask=rows)


def gptq_marlin_24_gemm(a, b_q_weight, b_meta, b_scales, workspace, b_q_type, size_m, size_n, size_k):
    out = torch.empty((size_m, size_n), dtype=a.dtype, device=a.device)
    if size_m == 0:
        return out
    groups = b_scales.shape[0]
    block_m = 16 if size_m <= 48 else 64
    sparse_kernel[(triton.cdiv(size_m, block_m), size_n // 64)](
        out,
        a,
        b_q_weight,
        b_meta,
        b_scales,
        size_m,
        size_n,
        size_k,
        size_k // groups,
        b_q_type.bias,
        BITS=b_q_type.size_bits,
        CHANNEL=groups == 1,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=32,
    )
    return out
