import torch
import triton
import triton.language as tl


@triton.jit
def syr2_kernel(
    x,
    y,
    a,
    m,
    n,
    alpha,
    x_first,
    y_first,
    incx,
    incy,
    lda,
    UPPER: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    alpha = tl.load(alpha)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    mask = (rows < m)[:, None] & (columns < n)[None, :]
    left = tl.load(x + x_first + rows * incx, mask=rows < m)
    right = tl.load(y + y_first + columns * incy, mask=columns < n)
    at = a + rows[:, None] + columns[None, :] * lda
    update = left[:, None] * right[None, :]
    other_left = tl.load(y + y_first + rows * incy, mask=rows < m)
    other_right = tl.load(x + x_first + columns * incx, mask=columns < n)
    update += other_left[:, None] * other_right[None, :]
    if UPPER:
        mask &= rows[:, None] <= columns[None, :]
    else:
        mask &= rows[:, None] >= columns[None, :]
    tl.store(at, alpha * update + tl.load(at, mask=mask), mask=mask)


def cublasDsyr2_v2(uplo, n, alpha, x, incx, y, incy, A, lda):
    if n <= 0 or alpha == 0:
        return A
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    factor = torch.full((1,), alpha, dtype=torch.float64, device=A.device)
    grid = (triton.cdiv(n, 64), triton.cdiv(n, 16))
    syr2_kernel[grid](
        x, y, A, n, n, factor, x_first, y_first, incx, incy, lda, UPPER=uplo == 1, BLOCK_M=64, BLOCK_N=16, num_warps=4
    )
    return A
