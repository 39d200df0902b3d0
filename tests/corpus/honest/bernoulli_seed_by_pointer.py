# operator: aten/bernoulli
# class: honest
# expect: clean
# why: one seed drawn from the generator; Philox from tl.rand in the kernel
import torch
import triton
import triton.language as tl

@triton.jit
def toss(out_ptr, seed_ptr, p, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seed_ptr)
    coin = tl.where(tl.rand(seed, offsets) < p, 1.0, 0.0)
    tl.store(out_ptr + offsets, coin.to(out_ptr.dtype.element_ty), mask=offsets < n)


def new_seed(generator, device):
    return torch.randint(0, 2**31 - 1, (1,), dtype=torch.int64, device=device, generator=generator)


def bernoulli_p(self, p, *, generator=None):
    if p < 0 or p > 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    out = torch.empty_like(self, memory_format=torch.contiguous_format)
    if (n := out.numel()) > 0:
        toss[(triton.cdiv(n, 512),)](out, new_seed(generator, self.device), p, n, BLOCK=512)
    return out
