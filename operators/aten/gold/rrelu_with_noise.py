"""Leaky ReLU with one slope, or with one drawn by Philox for every element and left in `noise`."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def train_kernel(seed_ptr, x_ptr, noise_ptr, out_ptr, n, lower, width, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    work: tl.constexpr = tl.float64 if x.dtype == tl.float64 else tl.float32
    x = x.to(work)
    u = tl.rand(tl.load(seed_ptr), offsets)
    slope = tl.where(x > 0.0, 1.0, lower + u * width).to(noise_ptr.dtype.element_ty)
    tl.store(noise_ptr + offsets, slope, mask=mask)
    tl.store(out_ptr + offsets, (x * slope.to(work)).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def leaky_kernel(x_ptr, slope_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    slope = tl.load(slope_ptr)
    x = tl.load(x_ptr + offsets, mask=mask).to(slope.dtype)
    y = tl.where(x > 0.0, x, x * slope)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def fill(self, noise, lower, upper, training, generator, out):
    """Write the answer to out and in training the slopes to noise."""
    if noise.shape != self.shape:
        raise RuntimeError(f"noise of shape {noise.shape} does not fit self of shape {self.shape}")
    if training and not lower <= upper:
        raise RuntimeError(f"lower ({lower}) is above upper ({upper})")
    if training and noise.dtype != self.dtype:
        raise RuntimeError(f"noise is {noise.dtype}, self is {self.dtype}")
    n = self.numel()
    if n == 0:
        return
    x = self.contiguous()
    target = out if out.is_contiguous() else torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(n, BLOCK_SIZE),)
    if training:
        slopes = noise if noise.is_contiguous() else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        seed = torch.randint(0, 2**31 - 1, (1,), generator=generator, device=x.device, dtype=torch.int64)
        train_kernel[grid](seed, x, slopes, target, n, lower, upper - lower, BLOCK=BLOCK_SIZE, num_warps=4)
        if slopes is not noise:
            noise.copy_(slopes)
    else:
        exact = torch.float64 if x.dtype == torch.float64 else torch.float32
        slope = torch.full((1,), (lower + upper) / 2, dtype=exact, device=x.device)
        leaky_kernel[grid](x, slope, target, n, BLOCK=BLOCK_SIZE, num_warps=4)
    if target is not out:
        out.copy_(target)


def rrelu_with_noise(self, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    fill(self, noise, lower, upper, training, generator, out)
    return out


def rrelu_with_noise_out(self, noise, lower=0.125, upper=1 / 3, training=False, generator=None, *, out):
    if out.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {out.dtype} but expected {self.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    fill(self, noise, lower, upper, training, generator, out)
    return out
