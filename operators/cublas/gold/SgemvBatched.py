import triton
import triton.language as tl


@triton.jit
def gemv_kernel(
    a,
    x,
    y,
    size,
    depth,
    alpha,
    beta,
    a_out,
    a_depth,
    x_first,
    y_first,
    incx,
    incy,
    READ_Y: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_DEPTH: tl.constexpr,
):
    out = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = out < size
    total = tl.zeros((BLOCK, BLOCK_DEPTH), dtype=tl.float32)
    for start in range(0, depth, BLOCK_DEPTH):
        inner = start + tl.arange(0, BLOCK_DEPTH).to(tl.int64)
        inner_mask = inner < depth
        x_value = tl.load(x + x_first + inner * incx, mask=inner_mask)
        a_at = a + out[:, None] * a_out + inner[None, :] * a_depth
        a_value = tl.load(a_at, mask=mask[:, None] & inner_mask[None, :])
        total += tl.where(inner_mask[None, :], a_value * x_value[None, :], 0.0)
    y_at = y + y_first + out * incy
    result = alpha * tl.sum(total, axis=1)
    if READ_Y:
        result += beta * tl.load(y_at, mask=mask)
    tl.store(y_at, result, mask=mask)


def cublasSgemvBatched(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m <= 0 or n <= 0 or batchCount <= 0:
        return yarray
    size, depth, a_out, a_depth = (m, n, 1, lda) if trans == "N" else (n, m, lda, 1)
    x_first = (1 - depth) * incx if incx < 0 else 0
    y_first = (1 - size) * incy if incy < 0 else 0
    block, block_depth = (32, 64) if trans == "N" else (16, 128)
    for A, x, y in zip(Aarray[:batchCount], xarray, yarray, strict=False):
        gemv_kernel[(triton.cdiv(size, block),)](
            A,
            x,
            y,
            size,
            0 if alpha == 0 else depth,
            alpha,
            beta,
            a_out,
            a_depth,
            x_first,
            y_first,
            incx,
            incy,
            READ_Y=beta != 0,
            BLOCK=block,
            BLOCK_DEPTH=block_depth,
            num_warps=4,
        )
    return yarray
