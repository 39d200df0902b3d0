import torch
import triton
import triton.language as tl


@triton.jit
def ger_kernel(
    x, y, a, m, n, alpha_re, alpha_im, x_first, y_first, incx, incy, lda, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    # x, y and a are the real views: element e has its real part at 2e and its imaginary part at 2e + 1.
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    mask = (rows < m)[:, None] & (columns < n)[None, :]
    x_at = x + 2 * (x_first + rows * incx)
    y_at = y + 2 * (y_first + columns * incy)
    x_re = tl.load(x_at, mask=rows < m)
    x_im = tl.load(x_at + 1, mask=rows < m)
    y_re = tl.load(y_at, mask=columns < n)[None, :]
    y_im = tl.load(y_at + 1, mask=columns < n)[None, :]
    left_re = (alpha_re * x_re - alpha_im * x_im)[:, None]
    left_im = (alpha_re * x_im + alpha_im * x_re)[:, None]
    at = a + 2 * (rows[:, None] + columns[None, :] * lda)
    real = left_re * y_re - left_im * y_im + tl.load(at, mask=mask)
    imag = left_re * y_im + left_im * y_re + tl.load(at + 1, mask=mask)
    tl.store(at, real, mask=mask)
    tl.store(at + 1, imag, mask=mask)


def cublasCgeru_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m <= 0 or n <= 0 or alpha == 0:
        return A
    x_first = (1 - m) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 16))
    ger_kernel[grid](
        torch.view_as_real(x),
        torch.view_as_real(y),
        torch.view_as_real(A),
        m,
        n,
        alpha.real,
        alpha.imag,
        x_first,
        y_first,
        incx,
        incy,
        lda,
        BLOCK_M=64,
        BLOCK_N=16,
        num_warps=4,
    )
    return A
