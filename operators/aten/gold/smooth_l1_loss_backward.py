"""Gradient of the smooth L1 loss: one flat kernel; a single gradient stays one element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def gradient_kernel(
    grad_ptr,
    x_ptr,
    target_ptr,
    out_ptr,
    n,
    BETA: tl.constexpr,
    MEAN: tl.constexpr,
    GRAD_STEP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad = tl.load(grad_ptr + offsets * GRAD_STEP, mask=mask)
    x = tl.load(x_ptr + offsets, mask=mask)
    target = tl.load(target_ptr + offsets, mask=mask)
    work: tl.constexpr = tl.float64 if x.dtype == tl.float64 else tl.float32
    grad = grad.to(work)
    x = x.to(work)
    target = target.to(work)
    d = x - target
    slope = tl.where(d <= -BETA, -1.0, tl.where(d >= BETA, 1.0, d / tl.full((BLOCK,), BETA, work)))
    if MEAN:
        slope = slope / n
    y = grad * slope
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def launch(grad, x, target, reduction, beta, out):
    """Write the gradient to out, which is dense."""
    n = out.numel()
    step = 0 if grad.numel() == 1 else 1
    if step:
        grad = laid_out_like(grad, out)
    if n:
        gradient_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            grad,
            laid_out_like(x, out),
            laid_out_like(target, out),
            out,
            n,
            BETA=beta,
            MEAN=reduction == 1,
            GRAD_STEP=step,
            BLOCK=BLOCK_SIZE,
            num_warps=4,
        )


def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    out = torch.empty_like(self)
    launch(grad_output, self, target, reduction, beta, out)
    return out


def smooth_l1_loss_backward_grad_input(grad_output, self, target, reduction, beta, *, grad_input):
    if not torch.can_cast(self.dtype, grad_input.dtype):
        raise RuntimeError(f"the answer of type {self.dtype} can't be written to a tensor of type {grad_input.dtype}")
    if grad_input.shape != self.shape:
        grad_input.resize_(self.shape)
    dense = torch.empty_like(grad_input)
    if dense.stride() == grad_input.stride():
        launch(grad_output, self, target, reduction, beta, grad_input)
    else:
        launch(grad_output, self, target, reduction, beta, dense)
        grad_input.copy_(dense)
    return grad_input
