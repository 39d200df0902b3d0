"""Poisson samples: small rates by inversion, larger ones by transformed rejection (Hörmann's PTRS), in fp64."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 512


@triton.jit
def log_factorial(k):
    """log(k!) by Stirling's series, shifted by 8, where four terms are exact enough."""
    z = k + 9.0
    shift = (k + 1.0) * (k + 2.0) * (k + 3.0) * (k + 4.0) * (k + 5.0) * (k + 6.0) * (k + 7.0) * (k + 8.0)
    r = 1.0 / z
    series = r / 12.0 - r * r * r / 360.0 + r * r * r * r * r / 1260.0
    return (z - 0.5) * tl.log(z) - z + 0.9189385332046727 + series - tl.log(shift)


@triton.jit
def poisson_kernel(seed_ptr, rate_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    rate = tl.load(rate_ptr + offsets, mask=mask, other=0.0).to(tl.float64)
    seed = tl.load(seed_ptr)
    small = rate < 10.0

    # Inversion: the first count whose cumulated probability exceeds a uniform number.
    u = tl.rand(seed, offsets).to(tl.float64)
    p = tl.exp(-tl.where(small, rate, 0.0))
    answer = tl.zeros((BLOCK,), dtype=tl.float64)
    going = small & (u > p)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        answer = tl.where(going, answer + 1.0, answer)
        u = u - p
        p = tl.where(going, p * rate / answer, p)
        going = going & (u > p) & (answer < 100.0)

    # Rejection: a count under a hat function, accepted by the ratio of the probabilities.
    large = tl.where(small, 10.0, rate)
    b = 0.931 + 2.53 * tl.sqrt(large)
    a = 0.02483 * b - 0.059
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    open = (rate >= 10.0) & mask
    while tl.max(open.to(tl.int32), axis=0) > 0:
        seed += 1
        u0, v0, _, _ = tl.rand4x(seed, offsets)
        u = u0.to(tl.float64) - 0.5
        v = tl.maximum(v0.to(tl.float64), 1e-10)
        us = tl.maximum(0.5 - tl.abs(u), 1e-10)
        k = tl.floor((2.0 * a / us + b) * u + large + 0.43)
        whole = tl.maximum(k, 0.0)
        ratio = tl.log(v * inverse_alpha / (a / (us * us) + b))
        likely = ratio <= whole * tl.log(large) - large - log_factorial(whole)
        inside = (k >= 0.0) & ((us >= 0.013) | (v <= us))
        accepted = open & (((us >= 0.07) & (v <= v_r)) | (inside & likely))
        answer = tl.where(accepted, k, answer)
        open = open & (accepted == 0)
    tl.store(out_ptr + offsets, answer, mask=mask)


def check(self):
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"Poisson samples are floating point, but self is {self.dtype}")


def draw(rates, generator, out):
    """Fill out, which is dense, with samples; rates are laid out alike."""
    n = out.numel()
    if n == 0:
        return
    if rates.stride() != out.stride():
        rates = torch.empty_like(out).copy_(rates)
    seed = torch.randint(0, 2**31 - 1, (1,), generator=generator, device=out.device, dtype=torch.int64)
    poisson_kernel[(triton.cdiv(n, BLOCK_SIZE),)](seed, rates, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def poisson(self, generator=None):
    check(self)
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    draw(self, generator, out)
    return out


def poisson_out(self, generator=None, *, out):
    check(self)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        draw(self, generator, out)
    else:
        draw(self, generator, dense)
        out.copy_(dense)
    return out
