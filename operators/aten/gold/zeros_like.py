"""Zeros in the shape and layout of a tensor: one kernel that stores a number over any strides; flat where memory is dense."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def fill_kernel(out_ptr, value, n, sizes, strides, OUTER: tl.constexpr, BLOCK: tl.constexpr):
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    offsets = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(OUTER):
        offsets += rest % sizes[d] * strides[d]
        rest //= sizes[d]
    x = tl.full((BLOCK,), value, out_ptr.dtype.element_ty)
    tl.store(out_ptr + offsets + rest * strides[OUTER], x, mask=mask)


def runs(x):
    """Sizes and strides of x's memory, innermost first: repeats left out, neighbours joined; never empty."""
    dims = sorted((s, n) for n, s in zip(x.shape, x.stride(), strict=True) if n > 1 and s > 0)
    sizes, strides = [], []
    for stride, size in dims:
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    return (tuple(sizes), tuple(strides)) if sizes else ((1,), (1,))


def fill(out, value):
    """Store 0 or 1 everywhere; the imaginary part of a complex number stays 0."""
    if out.numel() == 0:
        return out
    if out.dtype.is_complex:
        parts = torch.view_as_real(out)
        fill(parts.select(-1, 0), value)
        fill(parts.select(-1, 1), 0)
        return out
    sizes, strides = runs(out)
    n = math.prod(sizes)
    fill_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        out, value, n, sizes, strides, OUTER=len(sizes) - 1, BLOCK=BLOCK_SIZE, num_warps=4
    )
    return out


def sized(out, size):
    """out, brought to a size."""
    if list(out.shape) != list(size):
        out.resize_(size)
    return out


def zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    memory_format = torch.preserve_format if memory_format is None else memory_format
    return fill(torch.empty_like(self, dtype=dtype, device=device, memory_format=memory_format), 0)


def zeros_like_out(self, *, memory_format=None, out):
    return fill(sized(out, self.shape), 0)
