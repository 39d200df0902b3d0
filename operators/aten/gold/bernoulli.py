"""Coins by Philox: one seed drawn from the generator, one counter an element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def coins_kernel(seed_ptr, p_ptr, out_ptr, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    p = tl.load(p_ptr + offsets * STEP, mask=mask, other=0.0)
    if p.dtype != tl.float64:
        p = p.to(tl.float32)
    ones = tl.rand(tl.load(seed_ptr), offsets) < p
    tl.store(out_ptr + offsets, ones.to(tl.float32).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def same_coins_kernel(seed_ptr, p, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ones = tl.rand(tl.load(seed_ptr), offsets) < p
    tl.store(out_ptr + offsets, ones.to(tl.float32).to(out_ptr.dtype.element_ty), mask=offsets < n)


def laid_out_like(x, out):
    """x broadcast to out's shape with out's strides; one element stays one element."""
    if x.numel() == 1:
        return x, 0
    x = x.expand(out.shape)
    if x.stride() != out.stride():
        x = torch.empty_like(out, dtype=x.dtype).copy_(x)
    return x, 1


def flip(p, generator, out):
    """Fill out, which is dense, with coins of probability p (a number, or a tensor that broadcasts to it)."""
    if not isinstance(p, torch.Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    n = out.numel()
    if n == 0:
        return
    seed = torch.randint(0, 2**31 - 1, (1,), generator=generator, device=out.device, dtype=torch.int64)
    grid = (triton.cdiv(n, BLOCK_SIZE),)
    if isinstance(p, torch.Tensor):
        p, step = laid_out_like(p, out)
        coins_kernel[grid](seed, p, out, n, STEP=step, BLOCK=BLOCK_SIZE, num_warps=4)
    else:
        same_coins_kernel[grid](seed, float(p), out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def flip_into(p, generator, shape, out):
    if out.shape != shape:
        out.resize_(shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        flip(p, generator, out)
    else:
        flip(p, generator, dense)
        out.copy_(dense)
    return out


def check_type(self, out):
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")


def bernoulli(self, *, generator=None):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    flip(self, generator, out)
    return out


def bernoulli_out(self, *, generator=None, out):
    return flip_into(self, generator, self.shape, out)


def bernoulli_p(self, p, *, generator=None):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    flip(p, generator, out)
    return out


def bernoulli_Tensor(self, p, *, generator=None):
    out = torch.empty_like(self)
    flip(p, generator, out)
    return out


def bernoulli_Tensor_out(self, p, *, generator=None, out):
    check_type(self, out)
    return flip_into(p, generator, self.shape, out)


def bernoulli_float_out(self, p=0.5, *, generator=None, out):
    check_type(self, out)
    return flip_into(p, generator, self.shape, out)
