"""Inverse hyperbolic cosine by log1p of what x lies above 1, so that nothing cancels near 1."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def acosh_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    above = x - 1
    u = above + tl.sqrt(above * (above + 2))
    # log(1 + u): what the sum loses in rounding is put back as a first-order term. Far out it is log(2 x).
    far = x > 1e8
    w = tl.where(far, x, 1 + u)
    y = tl.log(w) + tl.where(far, 0.6931471805599453, (u - (w - 1)) / w)
    y = tl.where(x < 1, float("nan"), y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, out):
    """Write acosh(x) to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        acosh_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def acosh(self):
    out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))
    launch(laid_out_like(self, out), out)
    return out


def acosh_out(self, *, out):
    dtype = torch.result_type(self, 1.0)
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(laid_out_like(self, out), out)
    else:
        launch(laid_out_like(self, dense), dense)
        out.copy_(dense)
    return out
