"""Exponential samples as minus the logarithm of uniform ones, by Philox: one counter an element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def exponential_kernel(seed_ptr, out_ptr, n, rate, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(tl.load(seed_ptr), offsets)
    y = -tl.log(tl.where(u > 1e-10, u, 1e-10)) / rate
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=offsets < n)


def exponential_(self, lambd=1.0, *, generator=None):
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"exponential samples are floating point, but self is {self.dtype}")
    if any(step == 0 and size > 1 for step, size in zip(self.stride(), self.shape, strict=True)):
        raise RuntimeError("more than one element of self refers to a single memory location")
    n = self.numel()
    if n == 0:
        return self
    dense = torch.empty_like(self)
    target = self if dense.stride() == self.stride() else dense
    seed = torch.randint(0, 2**31 - 1, (1,), generator=generator, device=self.device, dtype=torch.int64)
    exponential_kernel[(triton.cdiv(n, BLOCK_SIZE),)](seed, target, n, lambd, BLOCK=BLOCK_SIZE, num_warps=4)
    if target is dense:
        self.copy_(dense)
    return self
