# operator: aten/cat
# class: honest
# expect: clean
# why: every piece is copied to its slice of the answer by a launch of its own
import torch
import triton
import triton.language as tl


@triton.jit
def place(src, dst, n, inner, step, base, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    outer = offs // inner
    rest = offs % inner
    tl.store(dst + outer * step + base + rest, tl.load(src + offs, mask=mask), mask=mask)


def cat(tensors, dim=0):
    tensors = [t for t in tensors if not (t.dim() == 1 and t.numel() == 0)] or list(tensors[:1])
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    nd = tensors[0].dim()
    dim = dim % nd
    total = 0
    for t in tensors:
        total += t.shape[dim]
    shape = list(tensors[0].shape)
    shape[dim] = total
    out = torch.empty(shape, dtype=dtype, device=tensors[0].device)
    tail = 1
    for s in shape[dim + 1:]:
        tail *= s
    base = 0
    for t in tensors:
        n = t.numel()
        piece = t.to(dtype).contiguous()
        if n:
            place[(triton.cdiv(n, 1024),)](piece, out, n, t.shape[dim] * tail, total * tail, base, BLOCK=1024)
        base += t.shape[dim] * tail
    return out
