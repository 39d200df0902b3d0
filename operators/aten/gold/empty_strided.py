"""Memory of given strides: a view of as much as it takes."""

import torch


def extent(size, stride):
    """How many elements of memory a tensor of this size and these strides reaches over."""
    if len(size) != len(stride):
        raise RuntimeError(f"{len(size)} sizes need as many strides, not {len(stride)}")
    if min(size, default=0) < 0 or min(stride, default=0) < 0:
        raise RuntimeError("sizes and strides cannot be negative")
    return 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.empty((extent(size, stride),), dtype=dtype, device=device).as_strided(size, stride)


def empty_strided_out(size, stride, *, out):
    return out if list(out.shape) == list(size) else out.resize_(size)
