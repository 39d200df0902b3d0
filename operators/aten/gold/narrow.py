"""A range of one dimension: metadata only; a start given as a tensor is read back."""

import torch


def dimension(dim, rank):
    """A dimension counted from the front."""
    if not -rank <= dim < rank:
        raise IndexError(f"dimension {dim} is out of range for {rank} dimensions")
    return dim % rank


def narrow(self, dim, start, length):
    if self.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor")
    dim = dimension(dim, self.dim())
    n = self.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative")
    if not -n <= start <= n:
        raise IndexError(f"start {start} is out of range for a dimension of size {n}")
    if start < 0:
        start += n
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds the dimension's size ({n})")
    sizes = list(self.shape)
    sizes[dim] = length
    return self.as_strided(sizes, self.stride(), self.storage_offset() + start * self.stride(dim))


def narrow_Tensor(self, dim, start, length):
    if start.dim() != 0 or start.dtype == torch.bool or start.is_floating_point() or start.is_complex():
        raise RuntimeError("start must be a 0-dim integral tensor")
    return narrow(self, dim, start.item(), length)
