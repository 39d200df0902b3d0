"""Broadcasting to a size: metadata only."""


def expanded(x, size):
    """The sizes and strides of x expanded to a size, in which -1 keeps a dimension."""
    lead = len(size) - x.dim()
    if lead < 0:
        raise RuntimeError(f"a tensor of {x.dim()} dimensions cannot be expanded to {len(size)}")
    sizes, strides = [0] * len(size), [0] * len(size)
    for i in reversed(range(len(size))):
        if i >= lead:
            n, stride = x.shape[i - lead], x.stride(i - lead)
        else:
            n, stride = 1, sizes[i + 1] * strides[i + 1] if i + 1 < len(size) else 1
        wanted = size[i]
        if wanted == -1 and i >= lead:
            wanted = n
        if wanted < 0 or n not in (1, wanted):
            raise RuntimeError(f"size {n} cannot be expanded to {wanted} at dimension {i}")
        sizes[i], strides[i] = wanted, stride if n == wanted else 0
    return sizes, strides


def expand(self, size, *, implicit=False):
    return self.as_strided(*expanded(self, size), self.storage_offset())
