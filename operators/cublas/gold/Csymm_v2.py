import torch
import triton
import triton.language as tl


@triton.jit
def symm_kernel(
    a,
    b,
    c,
    order,
    width,
    depth,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    lda,
    b_row,
    b_col,
    c_row,
    c_col,
    UPPER: tl.constexpr,
    READ_C: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # a, b and c are the real views: element e has its real part at 2e and its imaginary part at 2e + 1.
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    row_mask = (rows < order)[:, None]
    column_mask = (columns < width)[None, :]
    real = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    imag = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
        # An element of the triangle that is not stored is read at its mirror image.
        low = tl.minimum(rows[:, None], inner[None, :])
        high = tl.maximum(rows[:, None], inner[None, :])
        if UPPER:
            a_at = a + 2 * (low + high * lda)
        else:
            a_at = a + 2 * (high + low * lda)
        b_at = b + 2 * (inner[:, None] * b_row + columns[None, :] * b_col)
        a_mask = row_mask & (inner < depth)[None, :]
        b_mask = (inner < depth)[:, None] & column_mask
        a_re = tl.load(a_at, mask=a_mask, other=0.0)
        a_im = tl.load(a_at + 1, mask=a_mask, other=0.0)
        b_re = tl.load(b_at, mask=b_mask, other=0.0)
        b_im = tl.load(b_at + 1, mask=b_mask, other=0.0)
        real = tl.dot(a_re, b_re, real, input_precision="ieee")
        real = tl.dot(-a_im, b_im, real, input_precision="ieee")
        imag = tl.dot(a_re, b_im, imag, input_precision="ieee")
        imag = tl.dot(a_im, b_re, imag, input_precision="ieee")
    target = c + 2 * (rows[:, None] * c_row + columns[None, :] * c_col)
    mask = row_mask & column_mask
    result_re = alpha_re * real - alpha_im * imag
    result_im = alpha_re * imag + alpha_im * real
    if READ_C:
        c_re = tl.load(target, mask=mask)
        c_im = tl.load(target + 1, mask=mask)
        result_re += beta_re * c_re - beta_im * c_im
        result_im += beta_re * c_im + beta_im * c_re
    tl.store(target, result_re, mask=mask)
    tl.store(target + 1, result_im, mask=mask)


def cublasCsymm_v2(side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc):
    if m <= 0 or n <= 0:
        return C
    # With A to the right the transposed product is computed: C^T = alpha*A*B^T + beta*C^T.
    order, width, b_row, b_col, c_row, c_col = (n, m, ldb, 1, ldc, 1) if side else (m, n, 1, ldb, 1, ldc)
    block = 16 if m * n <= 65536 else 32
    symm_kernel[(triton.cdiv(order, block), triton.cdiv(width, 32))](
        torch.view_as_real(A),
        torch.view_as_real(B),
        torch.view_as_real(C),
        order,
        width,
        0 if alpha == 0 else order,
        alpha.real,
        alpha.imag,
        beta.real,
        beta.imag,
        lda,
        b_row,
        b_col,
        c_row,
        c_col,
        UPPER=uplo == 1,
        READ_C=beta != 0,
        BLOCK_M=block,
        BLOCK_N=32,
        BLOCK_K=16,
        num_warps=4,
    )
    return C
