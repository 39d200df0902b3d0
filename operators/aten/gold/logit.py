"""Log-odds, after a clamp if eps is given: one flat kernel over memory."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def logit_kernel(x_ptr, out_ptr, n, EPS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    if EPS is not None:
        low = tl.full((BLOCK,), EPS, x.dtype)
        high = tl.full((BLOCK,), 1 - EPS, x.dtype)
        x = tl.where(x < low, low, tl.where(x > high, high, x))
    y = tl.log(x / (1 - x))
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, eps, out):
    """Write logit(x) to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        logit_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, EPS=eps, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def logit(self, eps=None):
    out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))
    launch(laid_out_like(self, out), eps, out)
    return out


def logit_out(self, eps=None, *, out):
    dtype = torch.result_type(self, 1.0)
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(laid_out_like(self, out), eps, out)
    else:
        launch(laid_out_like(self, dense), eps, dense)
        out.copy_(dense)
    return out
