import torch
import triton
import triton.language as tl


@triton.jit
def block_kernel(
    a,
    b,
    first,
    order,
    width,
    alpha,
    a_first,
    a_row,
    a_col,
    b_first,
    b_row,
    b_col,
    READ_A: tl.constexpr,
    UNIT: tl.constexpr,
    SIGN: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # a and b are the real views: element e has its real part at 2e and its imaginary part at 2e + 1. SIGN is -1 where A
    # is conjugated. The system is lower triangular in the order of solution, and the rows before `first` are solved. A
    # program solves one block of rows for a few right-hand sides.
    # alpha comes through memory: an argument would be rounded to fp32.
    alpha_re = tl.load(alpha)
    alpha_im = tl.load(alpha + 1)
    index = tl.arange(0, BLOCK)
    rows = first + index.to(tl.int64)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    row_mask = rows < order
    column_mask = columns < width
    target = b + 2 * (b_first + rows[:, None] * b_row + columns[None, :] * b_col)
    mask = row_mask[:, None] & column_mask[None, :]
    real = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float64)
    imag = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float64)
    if READ_A:
        b_re = tl.load(target, mask=mask)
        b_im = tl.load(target + 1, mask=mask)
        real += alpha_re * b_re - alpha_im * b_im
        imag += alpha_re * b_im + alpha_im * b_re
        a_at = a + 2 * (a_first + rows[:, None] * a_row)
        for start in range(0, first, BLOCK):
            inner = start + index.to(tl.int64)
            left_at = a_at + 2 * inner[None, :] * a_col
            left_re = tl.load(left_at, mask=row_mask[:, None])
            left_im = SIGN * tl.load(left_at + 1, mask=row_mask[:, None])
            known_at = b + 2 * (b_first + inner[:, None] * b_row + columns[None, :] * b_col)
            known_re = tl.load(known_at, mask=column_mask[None, :])
            known_im = tl.load(known_at + 1, mask=column_mask[None, :])
            real = tl.dot(-left_re, known_re, real, out_dtype=tl.float64)
            real = tl.dot(left_im, known_im, real, out_dtype=tl.float64)
            imag = tl.dot(-left_re, known_im, imag, out_dtype=tl.float64)
            imag = tl.dot(-left_im, known_re, imag, out_dtype=tl.float64)
        below = row_mask[:, None] & (index[None, :] < index[:, None])
        strict_at = a_at + 2 * rows[None, :] * a_col
        strict_re = tl.load(strict_at, mask=below, other=0.0)
        strict_im = SIGN * tl.load(strict_at + 1, mask=below, other=0.0)
        inverse_re = tl.full((BLOCK,), 1.0, dtype=tl.float64)
        inverse_im = tl.zeros((BLOCK,), dtype=tl.float64)
        if not UNIT:
            diagonal_at = a + 2 * (a_first + rows * (a_row + a_col))
            diagonal_re = tl.load(diagonal_at, mask=row_mask)
            diagonal_im = SIGN * tl.load(diagonal_at + 1, mask=row_mask)
            size = diagonal_re * diagonal_re + diagonal_im * diagonal_im
            inverse_re = diagonal_re / size
            inverse_im = -diagonal_im / size
        for step in range(tl.minimum(order - first, BLOCK)):
            here = index == step
            row_re = tl.sum(tl.where(here[:, None], real, 0.0), axis=0)
            row_im = tl.sum(tl.where(here[:, None], imag, 0.0), axis=0)
            pivot_re = tl.sum(tl.where(here, inverse_re, 0.0))
            pivot_im = tl.sum(tl.where(here, inverse_im, 0.0))
            value_re = (row_re * pivot_re - row_im * pivot_im)[None, :]
            value_im = (row_re * pivot_im + row_im * pivot_re)[None, :]
            column_re = tl.sum(tl.where(here[None, :], strict_re, 0.0), axis=1)[:, None]
            column_im = tl.sum(tl.where(here[None, :], strict_im, 0.0), axis=1)[:, None]
            real = tl.where(here[:, None], value_re, real - (column_re * value_re - column_im * value_im))
            imag = tl.where(here[:, None], value_im, imag - (column_re * value_im + column_im * value_re))
    tl.store(target, real, mask=mask)
    tl.store(target + 1, imag, mask=mask)


def cublasZtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
    if m <= 0 or n <= 0 or batchCount <= 0:
        return Barray
    if side:
        # X*op(A) = alpha*B is solved as op(A)^T*X^T = alpha*B^T.
        order, width, b_row, b_col = n, m, ldb, 1
        a_row, a_col = (1, lda) if trans else (lda, 1)
    else:
        order, width, b_row, b_col = m, n, 1, ldb
        a_row, a_col = (lda, 1) if trans else (1, lda)
    a_first, b_first = 0, 0
    lower = ((uplo == 0) == (trans == 0)) != (side == 1)
    if not lower:
        # An upper triangle is solved from its end.
        a_first, b_first = (order - 1) * (a_row + a_col), (order - 1) * b_row
        a_row, a_col, b_row = -a_row, -a_col, -b_row
    factor = torch.view_as_real(torch.full((1,), alpha, dtype=torch.complex128, device=Aarray[0].device))
    for A, B in zip(Aarray[:batchCount], Barray, strict=False):
        for first in range(0, order, 32):
            block_kernel[(triton.cdiv(width, 16),)](
                torch.view_as_real(A),
                torch.view_as_real(B),
                first,
                order,
                width,
                factor,
                a_first,
                a_row,
                a_col,
                b_first,
                b_row,
                b_col,
                READ_A=alpha != 0,
                UNIT=diag == 1,
                SIGN=-1 if trans == 2 else 1,
                BLOCK=32,
                BLOCK_N=16,
                num_warps=4,
            )
    return Barray
