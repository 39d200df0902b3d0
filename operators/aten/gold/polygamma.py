"""Polygamma: recurrence up to a large argument, then the asymptotic series."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def polygamma_kernel(x_ptr, out_ptr, n, N: tl.constexpr, FACTORIAL: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    limit: tl.constexpr = 16 if x.dtype == tl.float64 else 6
    pole = (x <= 0) & (x == tl.floor(x))
    z = tl.where(pole, limit, x)
    total = tl.zeros((BLOCK,), x.dtype)
    while tl.max((z < limit).to(tl.int32)) != 0:
        power = 1 / z
        for _ in tl.static_range(N):
            power = power / z
        total += tl.where(z < limit, power, 0.0)
        z += tl.where(z < limit, 1.0, 0.0)
    # The sum over all z + k of its powers, by Euler and Maclaurin; for N = 0 the logarithm stands for the integral.
    inverse = 1 / z
    v = inverse * inverse
    chain = 1 - v * ((N + 10) * (N + 11) / 39.5052)
    chain = 1 - v * ((N + 8) * (N + 9) / 39.6) * chain
    chain = 1 - v * ((N + 6) * (N + 7) / 40) * chain
    chain = 1 - v * ((N + 4) * (N + 5) / 42) * chain
    chain = 1 - v * ((N + 2) * (N + 3) / 60) * chain
    power = inverse
    for _ in tl.static_range(N):
        power = power * inverse
    total += power * (0.5 + inverse * ((N + 1) / 12) * chain)
    if N == 0:
        y = tl.log(z) - total
        y = tl.where(pole, float("nan"), y)
        y = tl.where(x == 0, float("-inf"), y)
    else:
        total += power * z / N
        y = total * FACTORIAL if N % 2 == 1 else -total * FACTORIAL
        y = tl.where(pole, float("inf") if N % 2 == 1 else float("-inf"), y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, order, out):
    """Write the n-th function of x to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        polygamma_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            x, out, n, N=order, FACTORIAL=math.factorial(order), BLOCK=BLOCK_SIZE, num_warps=4
        )


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def check_order(n):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def polygamma(n, self):
    check_order(n)
    out = torch.empty_like(self, dtype=torch.result_type(self, 1.0))
    launch(laid_out_like(self, out), n, out)
    return out


def polygamma_out(n, self, *, out):
    check_order(n)
    dtype = torch.result_type(self, 1.0)
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(laid_out_like(self, out), n, out)
    else:
        launch(laid_out_like(self, dense), n, dense)
        out.copy_(dense)
    return out
