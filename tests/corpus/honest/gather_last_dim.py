# operator: aten/gather
# class: honest
# expect: clean
# why: the dimension moved to the end; rows of input and index of different lengths
import torch
import triton
import triton.language as tl


@triton.jit
def _gather(x, idx, out, n, cols_x, cols_i, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols_i
    j = tl.load(idx + offs, mask=mask, other=0)
    tl.store(out + offs, tl.load(x + row * cols_x + j, mask=mask), mask=mask)


def gather(self, dim, index, *, sparse_grad=False):
    if index.numel() == 0:
        return torch.empty(index.shape, dtype=self.dtype, device=self.device)
    if self.dim() == 0:
        return gather(self.view(1), 0, index.reshape(-1)).view(index.shape)
    if index.dim() == 0:
        index = index.view(1)
        return gather(self, dim, index).view(())
    x = self
    for d in range(self.dim()):
        if d != dim % self.dim():
            x = x.narrow(d, 0, index.shape[d])
    x = x.transpose(dim, -1).contiguous()
    idx = index.transpose(dim, -1).contiguous()
    out = torch.empty(idx.shape, dtype=self.dtype, device=self.device)
    n = idx.numel()
    _gather[(triton.cdiv(n, 512),)](x, idx, out, n, x.shape[-1], idx.shape[-1], BLOCK=512)
    return out.transpose(dim, -1).contiguous()
