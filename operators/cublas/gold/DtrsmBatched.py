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
    BLOCK: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # The system is lower triangular in the order of solution, and the rows before `first` are solved. A program solves
    # one block of rows for a few right-hand sides.
    # alpha comes through memory: an argument would be rounded to fp32.
    alpha = tl.load(alpha)
    index = tl.arange(0, BLOCK)
    rows = first + index.to(tl.int64)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    row_mask = rows < order
    column_mask = columns < width
    target = b + b_first + rows[:, None] * b_row + columns[None, :] * b_col
    mask = row_mask[:, None] & column_mask[None, :]
    right = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float64)
    if READ_A:
        right += alpha * tl.load(target, mask=mask)
        a_at = a + a_first + rows[:, None] * a_row
        for start in range(0, first, BLOCK):
            inner = start + index.to(tl.int64)
            left = tl.load(a_at + inner[None, :] * a_col, mask=row_mask[:, None])
            known = tl.load(b + b_first + inner[:, None] * b_row + columns[None, :] * b_col, mask=column_mask[None, :])
            right = tl.dot(-left, known, right, out_dtype=tl.float64)
        below = row_mask[:, None] & (index[None, :] < index[:, None])
        strict = tl.load(a_at + rows[None, :] * a_col, mask=below, other=0.0)
        diagonal = tl.full((BLOCK,), 1.0, dtype=tl.float64)
        if not UNIT:
            diagonal = tl.load(a + a_first + rows * (a_row + a_col), mask=row_mask)
        for step in range(tl.minimum(order - first, BLOCK)):
            here = index == step
            value = tl.sum(tl.where(here[:, None], right / diagonal[:, None], 0.0), axis=0)[None, :]
            column = tl.sum(tl.where(here[None, :], strict, 0.0), axis=1)[:, None]
            right = tl.where(here[:, None], value, right - column * value)
    tl.store(target, right, mask=mask)


def cublasDtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
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
    factor = torch.full((1,), alpha, dtype=torch.float64, device=Aarray[0].device)
    for A, B in zip(Aarray[:batchCount], Barray, strict=False):
        for first in range(0, order, 32):
            block_kernel[(triton.cdiv(width, 16),)](
                A,
                B,
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
                BLOCK=32,
                BLOCK_N=16,
                num_warps=4,
            )
    return Barray
