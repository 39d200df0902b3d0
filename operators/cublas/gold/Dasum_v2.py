import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x, partial, n, incx, BLOCK: tl.constexpr):
    # Each program adds up every num_programs-th block and leaves one number.
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        index = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = index < n
        total += tl.abs(tl.load(x + index * incx, mask=mask, other=0.0))
    tl.store(partial + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def final_kernel(partial, result, count, SIZE: tl.constexpr):
    index = tl.arange(0, SIZE)
    tl.store(result, tl.sum(tl.load(partial + index, mask=index < count, other=0.0), axis=0))


def cublasDasum_v2(n, x, incx, result):
    n = 0 if incx <= 0 else n
    # Up to four blocks a program, more where a thousand programs keep the GPU busy.
    programs = min(triton.cdiv(n, 1024), 1024) if n > 0 else 0
    partial = torch.empty((max(programs, 1),), dtype=torch.float64, device=x.device)
    partial_kernel[(programs,)](x, partial, n, incx, BLOCK=256, num_warps=4)
    final_kernel[(1,)](partial, result, programs, SIZE=triton.next_power_of_2(max(programs, 1)), num_warps=4)
    return result
