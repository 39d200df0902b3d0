"""Poisson samples: small rates by inversion, larger ones by a ratio of uniform numbers, in fp64."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 512


@triton.jit
def log_weight(k, log_rate):
    """log(rate^k / k!), short of a constant: 2e-6 off for k = 10, 0.001 for k = 0; NaN for negative k."""
    h = k + 0.5
    return k * log_rate - h * tl.log(h) + h + 1 / (24 * h)


@triton.jit
def candidate(u, v, centre, reach, log_rate, top):
    """A count, and whether it is taken: u squared is below its weight over that of the likeliest count."""
    u = u.to(tl.float64)
    k = tl.floor(centre + reach * (v - 0.5) / u)
    return k, tl.log(u * u) <= log_weight(k, log_rate) - top


@triton.jit
def poisson_kernel(seed_ptr, rate_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    rate = tl.load(rate_ptr + offsets, mask=mask, other=0.0).to(tl.float64)
    seed = tl.load(seed_ptr)
    small = rate < 10.0

    # Inversion: the first count whose cumulated probability exceeds a uniform number.
    u = tl.rand(seed, offsets).to(tl.float64)
    p = tl.exp(-rate)
    answer = tl.zeros((BLOCK,), dtype=tl.float64)
    going = small & (u > p)
    while tl.max(going.to(tl.int32)) > 0:
        answer = tl.where(going, answer + 1.0, answer)
        u = u - p
        p = tl.where(going, p * rate / answer, p)
        going = going & (u > p) & (answer < 100.0)

    # Ratio of uniforms: the reach is Stadlober's, in which all weights lie.
    centre = rate + 0.5
    reach = 1.7155277699214135 * tl.sqrt(centre) + 0.8989161620588988
    log_rate = tl.log(rate)
    top = log_weight(tl.floor(rate), log_rate)
    open = mask & ~small
    while tl.max(open.to(tl.int32)) > 0:
        seed += 1
        u0, v0, u1, v1 = tl.rand4x(seed, offsets)
        k, taken = candidate(u0, v0, centre, reach, log_rate, top)
        other, other_taken = candidate(u1, v1, centre, reach, log_rate, top)
        answer = tl.where(open & taken, k, tl.where(open & other_taken, other, answer))
        open = open & ~taken & ~other_taken
    tl.store(out_ptr + offsets, answer.to(out_ptr.dtype.element_ty), mask=mask)


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
