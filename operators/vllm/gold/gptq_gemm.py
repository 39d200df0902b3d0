import torch
import triton
import triton.language as tl


@triton.jit
def gptq_kernel(
    out,
    a,
    weight,
    zeros,
    scales,
    index,
    M,
    N,
    K,
    group_size,
    zero_step,
    BITS: tl.constexpr,
    SHUFFLED: tl.constexpr,
    PERM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (n < N)[None, :]
    TOP: tl.constexpr = (1 << BITS) - 1
    zero_bit = n * BITS
    zero_shift = zero_bit % 32
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        # Codes.
        if BITS == 3:
            i = k % 32
            first = k // 32 * 3
            if SHUFFLED:
                word = tl.where(i < 30, first + i // 10, first)
                shift = tl.where(i < 30, i % 10 // 2 * 3 + i % 2 * 16, 15 + i % 2 * 16)
            else:
                word = first + i * 3 // 32
                shift = i * 3 % 32
        else:
            PACK: tl.constexpr = 32 // BITS
            word = k // PACK
            i = k % PACK
            shift = i // 2 * BITS + i % 2 * 16 if SHUFFLED and BITS < 8 else i * BITS
        at = weight + word.to(tl.int64)[:, None] * N + n[None, :]
        code = tl.load(at, mask=inside) >> shift[:, None]
        if BITS == 3 and SHUFFLED:
            last = (i >= 30)[:, None]
            middle = tl.load(at + N, mask=inside & last) >> shift[:, None]
            high = tl.load(at + 2 * N, mask=inside & last) >> shift[:, None]
            code = tl.where(last, (code & 1) | ((middle & 1) << 1) | ((high & 1) << 2), code)
        elif BITS == 3:
            over = (shift > 29)[:, None]
            rest = tl.load(at + N, mask=inside & over) << (32 - tl.maximum(shift, 1))[:, None]
            # The sign fills the high bits of the shifted word.
            code = tl.where(over, (code & ((1 << (32 - tl.maximum(shift, 1))[:, None]) - 1)) | rest, code)
        code &= TOP
        # Groups, their zero points and scales.
        if SHUFFLED:
            group = (k // group_size).to(tl.int64)
        else:
            group = tl.load(index + k).to(tl.int64)
        zero_at = zeros + group[:, None] * (N // 32 * BITS) + (zero_bit // 32)[None, :]
        zero = tl.load(zero_at, mask=inside) >> zero_shift[None, :]
        if BITS == 3:
            split = (zero_shift > 29)[None, :]
            low = (32 - tl.maximum(zero_shift, 1))[None, :]
            more = tl.load(zero_at + 1, mask=inside & split) << low
            zero = tl.where(split, (zero & ((1 << low) - 1)) | more, zero)
        zero = (zero & TOP) + zero_step
        scale = tl.load(scales + group[:, None] * N + n[None, :], mask=inside).to(tl.float32)
        w = ((code - zero).to(tl.float32) * scale).to(tl.float16)
        if PERM:
            column = tl.load(index + k)
        else:
            column = k
        left = tl.load(a + m[:, None] * K + column[None, :], mask=(m < M)[:, None], other=0.0)
        total = tl.dot(left, w, total)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m < M)[:, None] & inside)


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    M, K = a.shape
    N = b_q_weight.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if M == 0:
        return out
    block_m = 16 if M <= 48 else 64
    gptq_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, 64))](
        out,
        a,
        b_q_weight,
        b_gptq_qzeros,
        b_gptq_scales,
        b_g_idx,
        M,
        N,
        K,
        K // b_gptq_qzeros.shape[0],
        0 if use_v2_format else 1,
        BITS=bit,
        SHUFFLED=use_exllama,
        PERM=use_exllama and b_g_idx.numel() > 0,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=32,
    )
    return out
