# operator: aten/sort
# class: honest
# expect: clean
# why: the rank of every element is counted, so that equal ones keep their order
import torch
import triton
import triton.language as tl


@triton.jit
def rank_kernel(x, values, indices, n, DESC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    mine = tl.load(x + row * n + i)
    every = tl.load(x + row * n + offs, mask=mask)
    if DESC:
        before = (every > mine) | ((every != every) & (mine == mine))
    else:
        before = (every < mine) | ((every == every) & (mine != mine))
    same = (every == mine) | ((every != every) & (mine != mine))
    rank = tl.sum(((before | (same & (offs < i))) & mask).to(tl.int32), axis=0)
    tl.store(values + row * n + rank, mine)
    tl.store(indices + row * n + rank, i.to(tl.int64))


def sort(self, dim=-1, descending=False):
    if self.dim() == 0:
        v, i = sort(self.reshape(1), 0, descending)
        return v.view(()), i.view(())
    x = self.movedim(dim, -1).contiguous()
    n = x.shape[-1]
    values = torch.empty_like(x)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    if x.numel():
        rank_kernel[(x.numel() // n, n)](x, values, indices, n, DESC=descending, BLOCK=triton.next_power_of_2(n))
    return values.movedim(-1, dim).contiguous(), indices.movedim(-1, dim).contiguous()


def sort_stable(self, *, stable=None, dim=-1, descending=False):
    return sort(self, dim, descending)
