"""One slice along a dimension: metadata only."""


def dimension(dim, rank):
    """A dimension counted from the front."""
    if not -rank <= dim < rank:
        raise IndexError(f"dimension {dim} is out of range for {rank} dimensions")
    return dim % rank


def select_int(self, dim, index):
    if self.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor")
    dim = dimension(dim, self.dim())
    n = self.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range for dimension {dim} of size {n}")
    sizes, strides = list(self.shape), list(self.stride())
    sizes.pop(dim)
    stride = strides.pop(dim)
    return self.as_strided(sizes, strides, self.storage_offset() + index % n * stride)
