# operator: aten/cumsum
# class: honest
# expect: clean
# why: rows scanned by blocks with a carry
import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x, y, cols, BLOCK: tl.constexpr, ACC: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = tl.zeros((), dtype=ACC)
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + offs, mask=offs < cols, other=0).to(ACC)
        s = tl.cumsum(v, axis=0) + carry
        tl.store(y + row * cols + offs, s, mask=offs < cols)
        carry += tl.sum(v, axis=0)


def cumsum(self, dim, *, dtype=None):
    if dtype is None:
        dtype = self.dtype if self.dtype.is_floating_point else torch.int64
    x = self.to(dtype)
    if x.dim() == 0:
        x = x.view(1)
        return cumsum(x, 0, dtype=dtype).view(())
    x = x.movedim(dim, -1).contiguous()
    out = torch.empty_like(x)
    cols = x.shape[-1]
    if x.numel():
        acc = tl.float32 if dtype.is_floating_point else tl.int64
        cumsum_kernel[(x.numel() // cols,)](x, out, cols, BLOCK=min(1024, triton.next_power_of_2(cols)), ACC=acc)
    return out.movedim(-1, dim).contiguous()
