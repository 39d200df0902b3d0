import triton
import triton.language as tl


@triton.jit
def dgmm_kernel(
    a, x, c, m, n, x_first, incx, lda, ldc, RIGHT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)[:, None]
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)[None, :]
    mask = (rows < m) & (columns < n)
    if RIGHT:
        factor = tl.load(x + x_first + columns * incx, mask=columns < n)
    else:
        factor = tl.load(x + x_first + rows * incx, mask=rows < m)
    tl.store(c + rows + columns * ldc, factor * tl.load(a + rows + columns * lda, mask=mask), mask=mask)


def cublasSdgmm(mode, m, n, A, lda, x, incx, C, ldc):
    if m <= 0 or n <= 0:
        return C
    length = n if mode else m
    x_first = (1 - length) * incx if incx < 0 else 0
    dgmm_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 16))](
        A, x, C, m, n, x_first, incx, lda, ldc, RIGHT=mode == 1, BLOCK_M=64, BLOCK_N=16, num_warps=4
    )
    return C
