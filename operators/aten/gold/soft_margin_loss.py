"""The logistic loss in its stable form; a mean or sum in partial sums, then their total."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024
STEPS = 4


@triton.jit
def soft_margin_kernel(
    x_ptr,
    t_ptr,
    out_ptr,
    n,
    STEPS: tl.constexpr,
    REDUCE: tl.constexpr,
    REAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The loss of STEPS blocks of elements, stored one by one or summed into one partial sum."""
    first = tl.program_id(0).to(tl.int64) * STEPS * BLOCK
    total = tl.zeros((BLOCK,), dtype=REAL)
    for step in range(STEPS):
        offsets = first + step * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask).to(REAL)
        t = tl.load(t_ptr + offsets, mask=mask)
        z = t * x
        y = tl.log(1.0 + tl.exp(-tl.abs(z))) + tl.where(z < 0, -z, 0.0)
        if REDUCE:
            total += tl.where(mask, y, 0.0)
        else:
            tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)
    if REDUCE:
        tl.store(out_ptr + tl.program_id(0), tl.sum(total))


@triton.jit
def total_kernel(partial_ptr, out_ptr, count, divisor, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(partial_ptr + k, mask=k < count, other=0.0))
    tl.store(out_ptr, (total / divisor).to(out_ptr.dtype.element_ty))


def broadcast(first, second):
    """The common shape of two shapes."""
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + tuple(first)
    b = (1,) * (rank - len(second)) + tuple(second)
    for dim in range(rank):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def launch(operands, shape, out, reduction):
    """Write the loss to out, which is contiguous, and 0-d unless `reduction` is 0."""
    x, t = (x.expand(shape).contiguous() for x in operands)
    n = 1
    for size in shape:
        n = n * size
    if n == 0:
        if reduction != 0:
            out.fill_(float("nan") if reduction == 1 else 0.0)
        return
    double = out.dtype == torch.float64
    exact = torch.float64 if double else torch.float32
    steps = 1 if reduction == 0 else STEPS
    programs = triton.cdiv(n, BLOCK_SIZE * steps)
    target = out if reduction == 0 else torch.empty(programs, dtype=exact, device=out.device)
    soft_margin_kernel[(programs,)](
        x,
        t,
        target,
        n,
        STEPS=steps,
        REDUCE=reduction != 0,
        REAL=tl.float64 if double else tl.float32,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )
    if reduction != 0:
        divisor = n if reduction == 1 else 1
        total_kernel[(1,)](target, out, programs, divisor, BLOCK=triton.next_power_of_2(programs), num_warps=4)


def run(operands, shape, reduction, dtype, out=None):
    answer = shape if reduction == 0 else ()
    if out is None:
        out = torch.empty(answer, dtype=dtype, device=operands[0].device)
    if out.shape != answer:
        out.resize_(answer)
    if out.is_contiguous():
        launch(operands, shape, out, reduction)
    else:
        dense = torch.empty(answer, dtype=out.dtype, device=out.device)
        launch(operands, shape, dense, reduction)
        out.copy_(dense)
    return out


def prepare(self, target):
    if broadcast(self.shape, target.shape) != self.shape:
        raise RuntimeError(f"output with shape {self.shape} doesn't match the shape of target, {target.shape}")


def soft_margin_loss(self, target, reduction=1):
    prepare(self, target)
    return run((self, target), self.shape, reduction, self.dtype)


def soft_margin_loss_out(self, target, reduction=1, *, out):
    prepare(self, target)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {out.dtype} but expected {self.dtype}")
    return run((self, target), self.shape, reduction, self.dtype, out)
