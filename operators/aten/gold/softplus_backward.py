"""Gradient of softplus: the logistic function below the threshold, 1 above."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def gradient_kernel(grad_ptr, x_ptr, out_ptr, n, BETA: tl.constexpr, THRESHOLD: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad = tl.load(grad_ptr + offsets, mask=mask)
    x = tl.load(x_ptr + offsets, mask=mask)
    work: tl.constexpr = tl.float64 if x.dtype == tl.float64 else tl.float32
    grad = grad.to(work)
    x = x.to(work)
    z = x * BETA
    e = tl.exp(z)
    y = tl.where(z > THRESHOLD, grad, grad * e / (e + 1))
    y = tl.where(x != x, x, y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def launch(grad, x, beta, threshold, out):
    """Write the gradient to out, which is dense."""
    n = out.numel()
    if n:
        gradient_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            laid_out_like(grad, out),
            laid_out_like(x, out),
            out,
            n,
            BETA=float(beta),
            THRESHOLD=float(threshold),
            BLOCK=BLOCK_SIZE,
            num_warps=4,
        )


def require_floating(x):
    if not x.is_floating_point():
        raise NotImplementedError(f"softplus_backward is not defined for {x.dtype}")


def softplus_backward(grad_output, self, beta, threshold):
    require_floating(self)
    out = torch.empty_like(self)
    launch(grad_output, self, beta, threshold, out)
    return out


def softplus_backward_grad_input(grad_output, self, beta, threshold, *, grad_input):
    require_floating(self)
    if not torch.can_cast(self.dtype, grad_input.dtype):
        raise RuntimeError(f"the answer of type {self.dtype} can't be written to a tensor of type {grad_input.dtype}")
    if grad_input.shape != self.shape:
        grad_input.resize_(self.shape)
    dense = torch.empty_like(grad_input)
    if dense.stride() == grad_input.stride():
        launch(grad_output, self, beta, threshold, grad_input)
    else:
        launch(grad_output, self, beta, threshold, dense)
        grad_input.copy_(dense)
    return grad_input
