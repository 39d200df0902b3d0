import torch
import triton
import triton.language as tl


@triton.jit
def symv_kernel(
    a,
    x,
    y,
    n,
    depth,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    lda,
    x_first,
    y_first,
    incx,
    incy,
    UPPER: tl.constexpr,
    READ_Y: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_DEPTH: tl.constexpr,
):
    # a, x and y are the real views: element e has its real part at 2e and its imaginary part at 2e + 1.
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = rows < n
    real = tl.zeros((BLOCK, BLOCK_DEPTH), dtype=tl.float32)
    imag = tl.zeros((BLOCK, BLOCK_DEPTH), dtype=tl.float32)
    for start in range(0, depth, BLOCK_DEPTH):
        columns = start + tl.arange(0, BLOCK_DEPTH).to(tl.int64)
        valid = columns < depth
        x_at = x + 2 * (x_first + columns * incx)
        x_re = tl.load(x_at, mask=valid)[None, :]
        x_im = tl.load(x_at + 1, mask=valid)[None, :]
        # An element of the triangle that is not stored is read at its mirror image.
        low = tl.minimum(rows[:, None], columns[None, :])
        high = tl.maximum(rows[:, None], columns[None, :])
        if UPPER:
            a_at = a + 2 * (low + high * lda)
        else:
            a_at = a + 2 * (high + low * lda)
        a_mask = mask[:, None] & valid[None, :]
        a_re = tl.load(a_at, mask=a_mask)
        a_im = tl.load(a_at + 1, mask=a_mask)
        real += tl.where(valid[None, :], a_re * x_re - a_im * x_im, 0.0)
        imag += tl.where(valid[None, :], a_re * x_im + a_im * x_re, 0.0)
    sum_re = tl.sum(real, axis=1)
    sum_im = tl.sum(imag, axis=1)
    result_re = alpha_re * sum_re - alpha_im * sum_im
    result_im = alpha_re * sum_im + alpha_im * sum_re
    y_at = y + 2 * (y_first + rows * incy)
    if READ_Y:
        y_re = tl.load(y_at, mask=mask)
        y_im = tl.load(y_at + 1, mask=mask)
        result_re += beta_re * y_re - beta_im * y_im
        result_im += beta_re * y_im + beta_im * y_re
    tl.store(y_at, result_re, mask=mask)
    tl.store(y_at + 1, result_im, mask=mask)


def cublasCsymv_v2(uplo, n, alpha, A, lda, x, incx, beta, y, incy):
    if n <= 0:
        return y
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    symv_kernel[(triton.cdiv(n, 16),)](
        torch.view_as_real(A),
        torch.view_as_real(x),
        torch.view_as_real(y),
        n,
        0 if alpha == 0 else n,
        alpha.real,
        alpha.imag,
        beta.real,
        beta.imag,
        lda,
        x_first,
        y_first,
        incx,
        incy,
        UPPER=uplo == 1,
        READ_Y=beta != 0,
        BLOCK=16,
        BLOCK_DEPTH=64,
        num_warps=4,
    )
    return y
