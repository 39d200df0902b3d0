# operator: cublas/Saxpy_v2
# class: honest
# expect: clean
# why: unit increments as a constexpr special case; do_not_specialize on the jit decorator
import torch
import triton
import triton.language as tl

@triton.jit(do_not_specialize=["alpha"])
def saxpy_kernel(x, y, n, alpha, incx, incy, x0, y0, UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    if UNIT:
        a, b = x + i, y + i
    else:
        a, b = x + x0 + i * incx, y + y0 + i * incy
    tl.store(b, tl.load(b, mask=mask) + alpha * tl.load(a, mask=mask), mask=mask)


def first(n, inc):
    """Index of element 0 of a vector."""
    return 0 if inc >= 0 else -(n - 1) * inc


def cublasSaxpy_v2(n, alpha, x, incx, y, incy):
    if n < 1 or alpha == 0:
        return
    BLOCK = min(1024, triton.next_power_of_2(n))
    saxpy_kernel[(triton.cdiv(n, BLOCK), 1, 1)](
        x, y, n, alpha, incx, incy, first(n, incx), first(n, incy), UNIT=incx == 1 and incy == 1, BLOCK=BLOCK
    )
