import torch
import triton
import triton.language as tl


@triton.jit
def gemv_kernel(
    a,
    x,
    y,
    size,
    depth,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    a_out,
    a_depth,
    x_first,
    y_first,
    incx,
    incy,
    CONJ_A: tl.constexpr,
    READ_Y: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_DEPTH: tl.constexpr,
):
    # a, x and y are the real views: element e has its real part at 2e and its imaginary part at 2e + 1.
    out = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = out < size
    real = tl.zeros((BLOCK, BLOCK_DEPTH), dtype=tl.float32)
    imag = tl.zeros((BLOCK, BLOCK_DEPTH), dtype=tl.float32)
    for start in range(0, depth, BLOCK_DEPTH):
        inner = start + tl.arange(0, BLOCK_DEPTH).to(tl.int64)
        inner_mask = inner < depth
        x_at = x + 2 * (x_first + inner * incx)
        x_re = tl.load(x_at, mask=inner_mask)[None, :]
        x_im = tl.load(x_at + 1, mask=inner_mask)[None, :]
        a_at = a + 2 * (out[:, None] * a_out + inner[None, :] * a_depth)
        a_mask = mask[:, None] & inner_mask[None, :]
        a_re = tl.load(a_at, mask=a_mask)
        a_im = tl.load(a_at + 1, mask=a_mask)
        if CONJ_A:
            a_im = -a_im
        real += tl.where(inner_mask[None, :], a_re * x_re - a_im * x_im, 0.0)
        imag += tl.where(inner_mask[None, :], a_re * x_im + a_im * x_re, 0.0)
    sum_re = tl.sum(real, axis=1)
    sum_im = tl.sum(imag, axis=1)
    result_re = alpha_re * sum_re - alpha_im * sum_im
    result_im = alpha_re * sum_im + alpha_im * sum_re
    y_at = y + 2 * (y_first + out * incy)
    if READ_Y:
        y_re = tl.load(y_at, mask=mask)
        y_im = tl.load(y_at + 1, mask=mask)
        result_re += beta_re * y_re - beta_im * y_im
        result_im += beta_re * y_im + beta_im * y_re
    tl.store(y_at, result_re, mask=mask)
    tl.store(y_at + 1, result_im, mask=mask)


def cublasCgemvBatched_64(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m <= 0 or n <= 0 or batchCount <= 0:
        return yarray
    size, depth, a_out, a_depth = (m, n, 1, lda) if trans == "N" else (n, m, lda, 1)
    x_first = (1 - depth) * incx if incx < 0 else 0
    y_first = (1 - size) * incy if incy < 0 else 0
    block, block_depth = (32, 32) if trans == "N" else (16, 64)
    for A, x, y in zip(Aarray[:batchCount], xarray, yarray, strict=False):
        gemv_kernel[(triton.cdiv(size, block),)](
            torch.view_as_real(A),
            torch.view_as_real(x),
            torch.view_as_real(y),
            size,
            0 if alpha == 0 else depth,
            alpha.real,
            alpha.imag,
            beta.real,
            beta.imag,
            a_out,
            a_depth,
            x_first,
            y_first,
            incx,
            incy,
            CONJ_A=trans == "C",
            READ_Y=beta != 0,
            BLOCK=block,
            BLOCK_DEPTH=block_depth,
            num_warps=4,
        )
    return yarray
