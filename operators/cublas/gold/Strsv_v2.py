import triton
import triton.language as tl


@triton.jit
def step_kernel(
    a,
    x,
    first,
    n,
    a_first,
    a_row,
    a_col,
    x_first,
    x_step,
    UNIT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # The system is lower triangular in the order of solution. Each program takes one block of rows from `first` on and
    # subtracts what the block solved by the launch before gives; the first program then solves its own block.
    index = tl.arange(0, BLOCK)
    rows = first + tl.program_id(0) * BLOCK + index.to(tl.int64)
    mask = rows < n
    target = x + x_first + rows * x_step
    right = tl.load(target, mask=mask)
    if first > 0:
        solved = first - BLOCK + index.to(tl.int64)
        known = tl.load(x + x_first + solved * x_step)
        panel = tl.load(a + a_first + rows[:, None] * a_row + solved[None, :] * a_col, mask=mask[:, None])
        right -= tl.sum(panel * known[None, :], axis=1)
    if tl.program_id(0) == 0:
        below = mask[:, None] & (index[None, :] < index[:, None])
        strict = tl.load(a + a_first + rows[:, None] * a_row + rows[None, :] * a_col, mask=below, other=0.0)
        diagonal = tl.full((BLOCK,), 1.0, dtype=tl.float32)
        if not UNIT:
            diagonal = tl.load(a + a_first + rows * (a_row + a_col), mask=mask)
        for step in range(tl.minimum(n - first, BLOCK)):
            here = index == step
            value = tl.sum(tl.where(here, right / diagonal, 0.0))
            column = tl.sum(tl.where(here[None, :], strict, 0.0), axis=1)
            right = tl.where(here, value, right - column * value)
    tl.store(target, right, mask=mask)


def cublasStrsv_v2(uplo, trans, diag, n, A, lda, x, incx):
    if n <= 0:
        return x
    a_row, a_col = (lda, 1) if trans else (1, lda)
    a_first, x_first, x_step = 0, (1 - n) * incx if incx < 0 else 0, incx
    if (uplo == 0) == (trans != 0):
        # An upper triangle is solved from its end.
        a_first, x_first = (n - 1) * (a_row + a_col), x_first + (n - 1) * incx
        a_row, a_col, x_step = -a_row, -a_col, -incx
    for first in range(0, n, 32):
        step_kernel[(triton.cdiv(n - first, 32),)](
            A, x, first, n, a_first, a_row, a_col, x_first, x_step, UNIT=diag == 1, BLOCK=32, num_warps=2
        )
    return x
