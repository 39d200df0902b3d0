"""A new dimension of size one: metadata only."""


def unsqueeze(self, dim):
    rank = self.dim() + 1
    if not -rank <= dim < rank:
        raise IndexError(f"dimension {dim} is out of range for {rank} dimensions")
    dim %= rank
    sizes, strides = list(self.shape), list(self.stride())
    stride = sizes[dim] * strides[dim] if dim < self.dim() else 1
    sizes.insert(dim, 1)
    strides.insert(dim, stride)
    return self.as_strided(sizes, strides, self.storage_offset())
