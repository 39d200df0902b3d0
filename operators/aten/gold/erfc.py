"""Complementary error function: exp(-x²) times a polynomial in (|x| - 4) / (|x| + 4), reflected for x < 0."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def erfc_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    a = tl.abs(x)
    s = tl.where(a < 30, a, 30.0)
    t = (s - 4) / (s + 4)
    # A Chebyshev fit of exp(x²) erfc(x) (1 + 2x) on x >= 0, in powers of t.
    p = t * 0 + 1.6403183696752708e-09
    p = p * t - 6.984021100158542e-09
    p = p * t - 1.673812797437216e-08
    p = p * t + 9.290772873032215e-08
    p = p * t + 7.202517584836005e-08
    p = p * t - 8.019174684327191e-07
    p = p * t + 2.968409172531307e-07
    p = p * t + 5.6894090899650724e-06
    p = p * t - 1.1224122281497544e-05
    p = p * t - 2.4387691264306046e-05
    p = p * t + 0.00015062257137043143
    p = p * t - 0.0001992610018544279
    p = p * t - 0.0007577735257382458
    p = p * t + 0.005031971017234254
    p = p * t - 0.016197734020451597
    p = p * t + 0.03716751538360477
    p = p * t - 0.06633036581541651
    p = p * t + 0.0937328350110569
    p = p * t - 0.10103906603618064
    p = p * t + 0.06809705425420673
    p = p * t + 0.015379652102618402
    p = p * t - 0.139621116840557
    p = p * t + 1.2329951186255526
    tail = tl.exp(-a * a) * p / (1 + 2 * s)
    y = tl.where(x < 0, 2 - tail, tail)
    y = tl.where(x != x, x, y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, out):
    """Write erfc(x) to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        erfc_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def erfc(self):
    out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))
    launch(laid_out_like(self, out), out)
    return out


def erfc_out(self, *, out):
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
