import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n, x_first, y_first, incx, incy, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(y + y_first + index * incy, tl.load(x + x_first + index * incx, mask=mask), mask=mask)


def cublasCcopy_v2(n, x, incx, y, incy):
    if n <= 0:
        return y
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    # One element of complex64 moves as one 64-bit word.
    block = 256 if n <= 32768 else 1024
    grid = (triton.cdiv(n, block),)
    copy_kernel[grid](
        x.view(torch.int64), y.view(torch.int64), n, x_first, y_first, incx, incy, BLOCK=block, num_warps=4
    )
    return y
