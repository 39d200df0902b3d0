"""Inverse sine by its power series, at half the angle where |x| > 1/2."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def asin_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    terms: tl.constexpr = 26 if x.dtype == tl.float64 else 12
    size = tl.abs(x)
    far = size > 0.5
    z = tl.where(far, 0.5 * (1 - size), x * x)
    series = tl.full((BLOCK,), 1, x.dtype)
    term = series
    for k in tl.static_range(terms):
        term *= z * ((2 * k + 1) / (2 * k + 2))
        series += term * (1 / (2 * k + 3))
    r = tl.where(far, tl.sqrt(z), size) * series
    y = tl.where(far, 1.5707963267948966 - 2 * r, r)
    y = tl.where(x < 0, -y, y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, out):
    """Write asin(x) to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        asin_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def asin(self):
    out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))
    launch(laid_out_like(self, out), out)
    return out


def asin_out(self, *, out):
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
