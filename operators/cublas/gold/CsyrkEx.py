import torch
import triton
import triton.language as tl


@triton.jit
def syrk_kernel(
    a,
    c,
    n,
    k,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    a_row,
    a_col,
    ldc,
    UPPER: tl.constexpr,
    READ_C: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # a and c are the real views: element e has its real part at 2e and its imaginary part at 2e + 1.
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
    real = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    imag = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    # A tile that lies in the other triangle altogether has nothing to add up.
    for start in range(0, tl.where(needed, k, 0), BLOCK_K):
        depth = start + inner
        left = a + 2 * (rows[:, None] * a_row + depth[None, :] * a_col)
        right = a + 2 * (depth[:, None] * a_col + columns[None, :] * a_row)
        left_mask = (rows < n)[:, None] & (depth < k)[None, :]
        right_mask = (depth < k)[:, None] & (columns < n)[None, :]
        left_re = tl.load(left, mask=left_mask, other=0.0)
        left_im = tl.load(left + 1, mask=left_mask, other=0.0)
        right_re = tl.load(right, mask=right_mask, other=0.0)
        right_im = tl.load(right + 1, mask=right_mask, other=0.0)
        real = tl.dot(left_re, right_re, real, input_precision="ieee")
        real = tl.dot(-left_im, right_im, real, input_precision="ieee")
        imag = tl.dot(left_re, right_im, imag, input_precision="ieee")
        imag = tl.dot(left_im, right_re, imag, input_precision="ieee")
    target = c + 2 * (rows[:, None] + columns[None, :] * ldc)
    result_re = alpha_re * real - alpha_im * imag
    result_im = alpha_re * imag + alpha_im * real
    if READ_C:
        c_re = tl.load(target, mask=mask)
        c_im = tl.load(target + 1, mask=mask)
        result_re += beta_re * c_re - beta_im * c_im
        result_im += beta_re * c_im + beta_im * c_re
    tl.store(target, result_re, mask=mask)
    tl.store(target + 1, result_im, mask=mask)


def cublasCsyrkEx(uplo, trans, n, k, alpha, A, Atype, lda, beta, C, Ctype, ldc):
    if n <= 0:
        return C
    a_row, a_col = (lda, 1) if trans else (1, lda)
    block, block_k = (16, 32) if n <= 256 else (32, 16)
    tiles = triton.cdiv(n, block)
    syrk_kernel[(tiles, tiles)](
        torch.view_as_real(A),
        torch.view_as_real(C),
        n,
        0 if alpha == 0 else k,
        alpha.real,
        alpha.imag,
        beta.real,
        beta.imag,
        a_row,
        a_col,
        ldc,
        UPPER=uplo == 1,
        READ_C=beta != 0,
        BLOCK=block,
        BLOCK_K=block_k,
        num_warps=4,
    )
    return C
