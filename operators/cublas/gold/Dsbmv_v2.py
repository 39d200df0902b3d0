import torch
import triton
import triton.language as tl


@triton.jit
def sbmv_kernel(
    a,
    x,
    y,
    n,
    k,
    reach,
    alpha,
    beta,
    lda,
    x_first,
    y_first,
    incx,
    incy,
    UPPER: tl.constexpr,
    READ_A: tl.constexpr,
    READ_Y: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_BAND: tl.constexpr,
):
    # alpha and beta come through memory: arguments would be rounded to fp32.
    alpha = tl.load(alpha)
    beta = tl.load(beta)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = rows < n
    total = tl.zeros((BLOCK, BLOCK_BAND), dtype=tl.float64)
    if READ_A:
        # Row i meets the columns i - reach to i + reach.
        for start in range(-reach, reach + 1, BLOCK_BAND):
            distance = start + tl.arange(0, BLOCK_BAND)[None, :]
            columns = rows[:, None] + distance
            valid = mask[:, None] & (columns >= 0) & (columns < n) & (distance <= reach)
            low = tl.minimum(rows[:, None], columns)
            high = tl.maximum(rows[:, None], columns)
            if UPPER:
                a_at = a + (k + low - high) + high * lda
            else:
                a_at = a + (high - low) + low * lda
            a_value = tl.load(a_at, mask=valid)
            x_value = tl.load(x + x_first + columns * incx, mask=valid)
            total += tl.where(valid, a_value * x_value, 0.0)
    y_at = y + y_first + rows * incy
    result = alpha * tl.sum(total, axis=1)
    if READ_Y:
        result += beta * tl.load(y_at, mask=mask)
    tl.store(y_at, result, mask=mask)


def cublasDsbmv_v2(uplo, n, k, alpha, A, lda, x, incx, beta, y, incy):
    if n <= 0:
        return y
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    factor = torch.full((1,), alpha, dtype=torch.float64, device=A.device)
    factor_y = torch.full((1,), beta, dtype=torch.float64, device=A.device)
    sbmv_kernel[(triton.cdiv(n, 128),)](
        A,
        x,
        y,
        n,
        k,
        min(k, n - 1),
        factor,
        factor_y,
        lda,
        x_first,
        y_first,
        incx,
        incy,
        UPPER=uplo == 1,
        READ_A=alpha != 0.0,
        READ_Y=beta != 0.0,
        BLOCK=128,
        BLOCK_BAND=8,
        num_warps=4,
    )
    return y
