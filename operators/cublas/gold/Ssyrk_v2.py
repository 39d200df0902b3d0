import triton
import triton.language as tl


@triton.jit
def syrk_kernel(
    a,
    c,
    n,
    k,
    alpha,
    beta,
    a_row,
    a_col,
    ldc,
    UPPER: tl.constexpr,
    READ_C: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK
    first_column = tl.program_id(1) * BLOCK
    rows = first_row + tl.arange(0, BLOCK).to(tl.int64)
    columns = first_column + tl.arange(0, BLOCK).to(tl.int64)
    inner = tl.arange(0, BLOCK_K).to(tl.int64)
    mask = (rows < n)[:, None] & (columns < n)[None, :]
    if UPPER:
        mask &= rows[:, None] <= columns[None, :]
        needed = first_row <= first_column
    else:
        mask &= rows[:, None] >= columns[None, :]
        needed = first_row >= first_column
    accumulator = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    # A tile that lies in the other triangle altogether has nothing to add up.
    for start in range(0, tl.where(needed, k, 0), BLOCK_K):
        depth = start + inner
        left = tl.load(
            a + rows[:, None] * a_row + depth[None, :] * a_col,
            mask=(rows < n)[:, None] & (depth < k)[None, :],
            other=0.0,
        )
        right = tl.load(
            a + depth[:, None] * a_col + columns[None, :] * a_row,
            mask=(depth < k)[:, None] & (columns < n)[None, :],
            other=0.0,
        )
        accumulator = tl.dot(left, right, accumulator, input_precision="ieee")
    target = c + rows[:, None] + columns[None, :] * ldc
    result = alpha * accumulator
    if READ_C:
        result += beta * tl.load(target, mask=mask)
    tl.store(target, result, mask=mask)


def cublasSsyrk_v2(uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    if n <= 0:
        return C
    a_row, a_col = (lda, 1) if trans else (1, lda)
    block, block_k = (16, 32) if n <= 256 else (64, 16)
    tiles = triton.cdiv(n, block)
    syrk_kernel[(tiles, tiles)](
        A,
        C,
        n,
        0 if alpha == 0.0 else k,
        alpha,
        beta,
        a_row,
        a_col,
        ldc,
        UPPER=uplo == 1,
        READ_C=beta != 0.0,
        BLOCK=block,
        BLOCK_K=block_k,
        num_warps=4,
    )
    return C
