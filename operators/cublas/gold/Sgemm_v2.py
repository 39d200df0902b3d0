import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    a,
    b,
    c,
    m,
    n,
    k,
    alpha,
    beta,
    a_row,
    a_col,
    b_row,
    b_col,
    ldc,
    READ_C: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles = tl.cdiv(m, BLOCK_M)
    rows = (pid % tiles) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid // tiles) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    row_mask = rows < m
    column_mask = columns < n
    rows64 = rows.to(tl.int64)
    columns64 = columns.to(tl.int64)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        depth = start + inner
        depth64 = depth.to(tl.int64)
        left = tl.load(
            a + rows64[:, None] * a_row + depth64[None, :] * a_col,
            mask=row_mask[:, None] & (depth[None, :] < k),
            other=0.0,
        )
        right = tl.load(
            b + depth64[:, None] * b_row + columns64[None, :] * b_col,
            mask=(depth[:, None] < k) & column_mask[None, :],
            other=0.0,
        )
        accumulator = tl.dot(left, right, accumulator, input_precision="ieee")
    target = c + rows64[:, None] + columns64[None, :] * ldc
    mask = row_mask[:, None] & column_mask[None, :]
    result = alpha * accumulator
    if READ_C:
        result += beta * tl.load(target, mask=mask)
    tl.store(target, result, mask=mask)


def cublasSgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    if m <= 0 or n <= 0:
        return C
    a_row, a_col = (1, lda) if transa == "N" else (lda, 1)
    b_row, b_col = (1, ldb) if transb == "N" else (ldb, 1)
    block = 32 if m * n <= 1024 * 1024 else 64
    gemm_kernel[(triton.cdiv(m, block) * triton.cdiv(n, block),)](
        A,
        B,
        C,
        m,
        n,
        0 if alpha == 0.0 else k,
        alpha,
        beta,
        a_row,
        a_col,
        b_row,
        b_col,
        ldc,
        READ_C=beta != 0.0,
        BLOCK_M=block,
        BLOCK_N=block,
        BLOCK_K=32,
        num_warps=4,
        num_stages=3,
    )
    return C
