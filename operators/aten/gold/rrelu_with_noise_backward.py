"""Gradient of the randomised leaky ReLU: by the noise in training, else by a fixed slope."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def gradient_kernel(
    grad_ptr, x_ptr, noise_ptr, out_ptr, n, BY_NOISE: tl.constexpr, SLOPE: tl.constexpr, BLOCK: tl.constexpr
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad = tl.load(grad_ptr + offsets, mask=mask)
    x = tl.load(x_ptr + offsets, mask=mask)
    noise = tl.load(noise_ptr + offsets, mask=mask)
    work: tl.constexpr = tl.float64 if x.dtype == tl.float64 else tl.float32
    grad = grad.to(work)
    x = x.to(work)
    noise = noise.to(work)
    if BY_NOISE:
        y = grad * noise
    else:
        y = tl.where(x > 0, grad, grad * tl.full((BLOCK,), SLOPE, work))
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def launch(grad, x, noise, lower, upper, training, self_is_result, out):
    """Write the gradient to out, which is dense."""
    slope = (lower + upper) / 2
    if self_is_result and slope < 0 and not training:
        raise RuntimeError("a negative slope can't be told from the forward pass's result")
    n = out.numel()
    if n:
        gradient_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            laid_out_like(grad, out),
            laid_out_like(x, out),
            laid_out_like(noise, out),
            out,
            n,
            BY_NOISE=training,
            SLOPE=slope,
            BLOCK=BLOCK_SIZE,
            num_warps=4,
        )


def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    out = torch.empty_like(self)
    launch(grad_output, self, noise, lower, upper, training, self_is_result, out)
    return out


def rrelu_with_noise_backward_out(grad_output, self, noise, lower, upper, training, self_is_result, *, out):
    if out.dtype != self.dtype:
        raise RuntimeError(f"the answer of type {self.dtype} can't be written to a tensor of type {out.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(grad_output, self, noise, lower, upper, training, self_is_result, out)
    else:
        launch(grad_output, self, noise, lower, upper, training, self_is_result, dense)
        out.copy_(dense)
    return out
