import torch
import triton
import triton.language as tl


@triton.jit
def allspark_kernel(
    out,
    a,
    weight,
    scales,
    zeros,
    M,
    N,
    K,
    ZEROS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rows = (m < M)[:, None]
    columns = n < N
    r = n % 32
    line = (8 * (n // 32) + r % 8) * 4 * K + 4 * (r // 8)
    stored = n // 32 * 32 + 4 * (r % 8) + r // 8
    scale = tl.load(scales + stored, mask=columns).to(tl.float32)[None, :]
    if ZEROS:
        zero = tl.load(zeros + stored, mask=columns).to(tl.float32)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        inside = k < K
        depth = k % 16
        place = 64 * (k // 16) + 16 * (depth % 8 // 2) + 2 * (depth // 8) + depth % 2
        code = tl.load(weight + line[None, :] + place[:, None], mask=inside[:, None] & columns[None, :], other=0)
        w = code.to(tl.float32) - 128.0
        if ZEROS:
            w -= zero
        left = tl.load(a + m[:, None] * K + k[None, :], mask=rows & inside[None, :], other=0.0)
        total = tl.dot(left, (w * scale).to(left.dtype), total)
    tl.store(out + m[:, None] * N + n[None, :], total.to(out.dtype.element_ty), mask=rows & columns[None, :])


def allspark_w8a16_gemm(
    a,
    b_qweight,
    b_scales,
    b_qzeros,
    n,
    group_size,
    sm_count,
    sm_version,
    CUBLAS_M_THRESHOLD,
    has_zp,
    n32k16_reorder,
):
    M, K = a.shape
    out = torch.empty((M, n), dtype=a.dtype, device=a.device)
    if M == 0:
        return out
    block_m = 16 if M <= 48 else 64
    allspark_kernel[(triton.cdiv(M, block_m), triton.cdiv(n, 64))](
        out,
        a,
        b_qweight,
        b_scales,
        b_qzeros if b_qzeros is not None else b_scales,
        M,
        n,
        K,
        ZEROS=b_qzeros is not None,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=64,
    )
    return out
