import torch
import triton
import triton.language as tl


@triton.jit
def axpy_kernel(x, y, n, alpha, x_first, y_first, incx, incy, BLOCK: tl.constexpr):
    # alpha comes through memory: an argument would be rounded to fp32.
    alpha = tl.load(alpha)
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x_value = tl.load(x + x_first + index * incx, mask=mask)
    y_at = y + y_first + index * incy
    tl.store(y_at, alpha * x_value + tl.load(y_at, mask=mask), mask=mask)


def cublasDaxpy_v2(n, alpha, x, incx, y, incy):
    if n <= 0 or alpha == 0.0:
        return y
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    factor = torch.full((1,), alpha, dtype=torch.float64, device=y.device)
    block = 256 if n <= 32768 else 1024
    axpy_kernel[(triton.cdiv(n, block),)](x, y, n, factor, x_first, y_first, incx, incy, BLOCK=block, num_warps=4)
    return y
