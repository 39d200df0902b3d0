import triton
import triton.language as tl


@triton.jit
def ger_kernel(x, y, a, m, n, alpha, x_first, y_first, incx, incy, lda, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    mask = (rows < m)[:, None] & (columns < n)[None, :]
    left = tl.load(x + x_first + rows * incx, mask=rows < m)
    right = tl.load(y + y_first + columns * incy, mask=columns < n)
    at = a + rows[:, None] + columns[None, :] * lda
    update = left[:, None] * right[None, :]
    tl.store(at, alpha * update + tl.load(at, mask=mask), mask=mask)


def cublasSger_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m <= 0 or n <= 0 or alpha == 0:
        return A
    x_first = (1 - m) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 16))
    ger_kernel[grid](x, y, A, m, n, alpha, x_first, y_first, incx, incy, lda, BLOCK_M=64, BLOCK_N=16, num_warps=4)
    return A
