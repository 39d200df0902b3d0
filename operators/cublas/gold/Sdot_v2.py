import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x, y, partial, n, x_first, y_first, incx, incy, BLOCK: tl.constexpr):
    # Each program adds up every num_programs-th block and leaves one number.
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = index < n
        x_value = tl.load(x + x_first + index * incx, mask=mask)
        y_value = tl.load(y + y_first + index * incy, mask=mask)
        total += tl.where(mask, x_value * y_value, 0.0)
    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def final_kernel(partial, result, count, SIZE: tl.constexpr):
    index = tl.arange(0, SIZE)
    tl.store(result, tl.sum(tl.load(partial + index, mask=index < count, other=0.0), axis=0))


def cublasSdot_v2(n, x, incx, y, incy, result):
    x_first = (1 - n) * incx if incx < 0 else 0
    y_first = (1 - n) * incy if incy < 0 else 0
    # Up to four blocks a program, more where a thousand programs keep the GPU busy.
    programs = min(triton.cdiv(n, 1024), 1024) if n > 0 else 0
    partial = torch.empty((max(programs, 1),), dtype=torch.float32, device=x.device)
    partial_kernel[(programs,)](x, y, partial, n, x_first, y_first, incx, incy, BLOCK=256, num_warps=4)
    final_kernel[(1,)](partial, result, programs, SIZE=triton.next_power_of_2(max(programs, 1)), num_warps=4)
    return result
