import triton
import triton.language as tl


@triton.jit
def geam_kernel(
    a,
    b,
    c,
    m,
    n,
    alpha,
    beta,
    a_row,
    a_col,
    b_row,
    b_col,
    ldc,
    READ_A: tl.constexpr,
    READ_B: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    mask = (rows < m) & (columns < n)
    result = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if READ_A:
        result += alpha * tl.load(a + rows * a_row + columns * a_col, mask=mask)
    if READ_B:
        result += beta * tl.load(b + rows * b_row + columns * b_col, mask=mask)
    tl.store(c + rows + columns * ldc, result, mask=mask)


def cublasSgeam(transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc):
    if m <= 0 or n <= 0:
        return C
    a_row, a_col = (lda, 1) if transa else (1, lda)
    b_row, b_col = (ldb, 1) if transb else (1, ldb)
    geam_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        A,
        B,
        C,
        m,
        n,
        alpha,
        beta,
        a_row,
        a_col,
        b_row,
        b_col,
        ldc,
        READ_A=alpha != 0.0,
        READ_B=beta != 0.0,
        BLOCK_M=32,
        BLOCK_N=32,
        num_warps=4,
    )
    return C
