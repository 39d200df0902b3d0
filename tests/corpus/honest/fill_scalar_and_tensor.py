# operator: aten/fill_
# class: honest
# expect: clean
# why: the number of a tensor read on the host, a work buffer for strided memory
import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(ptr, value, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ptr + offs, value, mask=offs < n)


@triton.jit
def fill_strided(ptr, value, n, d1, d2, d3, d4, s0, s1, s2, s3, s4, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i4 = offs % d4
    i3 = (offs // d4) % d3
    i2 = (offs // (d4 * d3)) % d2
    i1 = (offs // (d4 * d3 * d2)) % d1
    i0 = offs // (d4 * d3 * d2 * d1)
    tl.store(ptr + i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3 + i4 * s4, value, mask=offs < n)


def fill__Scalar(self, value):
    n = self.numel()
    if n == 0:
        return self
    if self.dtype is torch.bool:
        value = bool(value)
    elif not self.dtype.is_floating_point:
        value = int(value)
    if self.is_contiguous():
        fill_kernel[(triton.cdiv(n, 1024),)](self, value, n, BLOCK=1024)
    else:
        pad = 5 - self.dim()
        size = [1] * pad + list(self.shape)
        fill_strided[(triton.cdiv(n, 1024),)](self, value, n, *size[1:], *([0] * pad + list(self.stride())), BLOCK=1024)
    return self


def fill__Tensor(self, value):
    return fill__Scalar(self, value.item())
