import triton
import triton.language as tl


@triton.jit
def tbmv_kernel(
    a,
    before,
    x,
    n,
    k,
    reach,
    lda,
    x_first,
    incx,
    UPPER: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    UNIT: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_BAND: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    mask = rows < n
    total = tl.zeros((BLOCK, BLOCK_BAND), dtype=tl.float32)
    for start in range(0, reach + 1, BLOCK_BAND):
        distance = start + tl.arange(0, BLOCK_BAND).to(tl.int64)[None, :]
        # Row i of op(A) meets the columns on one side: i + distance, or i - distance.
        if UPPER != TRANSPOSED:
            columns = rows[:, None] + distance
        else:
            columns = rows[:, None] - distance
        valid = mask[:, None] & (columns >= 0) & (columns < n) & (distance <= reach)
        if UPPER:
            a_at = a + (k - distance) + tl.maximum(rows[:, None], columns) * lda
        else:
            a_at = a + distance + tl.minimum(rows[:, None], columns) * lda
        x_value = tl.load(before + x_first + columns * incx, mask=valid)
        if UNIT:
            a_value = tl.load(a_at, mask=valid & (distance > 0), other=1.0)
        else:
            a_value = tl.load(a_at, mask=valid)
        total += tl.where(valid, a_value * x_value, 0.0)
    tl.store(x + x_first + rows * incx, tl.sum(total, axis=1), mask=mask)


def cublasStbmv_v2(uplo, trans, diag, n, k, A, lda, x, incx):
    if n <= 0:
        return x
    x_first = (1 - n) * incx if incx < 0 else 0
    # Every program reads what others overwrite.
    before = x.clone()
    tbmv_kernel[(triton.cdiv(n, 128),)](
        A,
        before,
        x,
        n,
        k,
        min(k, n - 1),
        lda,
        x_first,
        incx,
        UPPER=uplo == 1,
        TRANSPOSED=trans != 0,
        UNIT=diag == 1,
        BLOCK=128,
        BLOCK_BAND=8,
        num_warps=4,
    )
    return x
