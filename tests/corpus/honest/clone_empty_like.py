# operator: aten/clone
# class: honest
# expect: clean
# why: copies the dense memory of an input, whatever its strides; else element by element through strides
import torch
import triton
import triton.language as tl


@triton.jit
def copy_flat(src, dst, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(dst + offs, tl.load(src + offs, mask=mask), mask=mask)


@triton.jit
def copy_strided(src, dst, n, d1, d2, d3, d4, s0, s1, s2, s3, s4, t0, t1, t2, t3, t4, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    i4 = offs % d4
    r = offs // d4
    i3 = r % d3
    r = r // d3
    i2 = r % d2
    r = r // d2
    i1 = r % d1
    i0 = r // d1
    x = tl.load(src + i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3 + i4 * s4, mask=mask)
    tl.store(dst + i0 * t0 + i1 * t1 + i2 * t2 + i3 * t3 + i4 * t4, x, mask=mask)


def clone(self, *, memory_format=torch.preserve_format):
    if memory_format is None:
        memory_format = torch.preserve_format
    out = torch.empty_like(self, memory_format=memory_format)
    n = out.numel()
    if n == 0:
        return out
    if self.stride() == out.stride():
        copy_flat[(triton.cdiv(n, 1024),)](self, out, n, BLOCK=1024)
        return out
    pad = 5 - self.dim()
    size = [1] * pad + list(self.shape)
    copy_strided[(triton.cdiv(n, 512),)](
        self, out, n, *size[1:], *([0] * pad + list(self.stride())), *([0] * pad + list(out.stride())), BLOCK=512)
    return out
