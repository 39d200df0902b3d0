"""Any strides over the memory of a tensor: metadata only."""


def as_strided(self, size, stride, storage_offset=None):
    offset = self.storage_offset() if storage_offset is None else storage_offset
    return self.detach().as_strided_(size, stride, offset)
