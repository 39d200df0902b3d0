import triton
import triton.language as tl


@triton.jit
def scal_kernel(x, n, alpha, incx, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    at = x + index * incx
    tl.store(at, alpha * tl.load(at, mask=mask), mask=mask)


def cublasSscal_v2(n, alpha, x, incx):
    if n <= 0 or incx <= 0:
        return x
    block = 256 if n <= 32768 else 1024
    scal_kernel[(triton.cdiv(n, block),)](x, n, alpha, incx, BLOCK=block, num_warps=4)
    return x
