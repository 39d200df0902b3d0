import torch
import triton
import triton.language as tl


@triton.jit
def awq_kernel(
    out,
    a,
    weight,
    scales,
    zeros,
    M,
    N,
    K,
    group_size,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """One tile; a group covers whole blocks of K."""
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = (m < M)[:, None]
    # Even columns lie in the low half of a word, odd ones in the high half.
    shift = (n % 8 // 2 * 4 + n % 2 * 16)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        group = start // group_size
        code = (tl.load(weight + k[:, None] * (N // 8) + (n // 8)[None, :]) >> shift) & 15
        zero = (tl.load(zeros + group * (N // 8) + n // 8)[None, :] >> shift) & 15
        scale = tl.load(scales + group * N + n)[None, :]
        w = ((code - zero).to(tl.float32) * scale).to(tl.float16)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=rows, other=0.0)
        total = tl.dot(left, w, total)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16), mask=rows)


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    M, K = input.shape
    N = qweight.shape[1] * 8
    out = torch.empty((M, N), dtype=input.dtype, device=input.device)
    if M == 0:
        return out
    block_m = 16 if M <= 48 else 64
    awq_kernel[(triton.cdiv(M, block_m), N // 64)](
        out,
        input,
        qweight,
        scales,
        qzeros,
        M,
        N,
        K,
        K // scales.shape[0],
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=32,
    )
    return out
