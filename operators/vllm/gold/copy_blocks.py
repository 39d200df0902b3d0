import triton
import triton.language as tl


@triton.jit
def copy_kernel(keys, values, mapping, size, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    source = tl.load(mapping + pair * 2) * size
    target = tl.load(mapping + pair * 2 + 1) * size
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < size
    tl.store(keys + target + column, tl.load(keys + source + column, mask=mask), mask=mask)
    tl.store(values + target + column, tl.load(values + source + column, mask=mask), mask=mask)


def copy_blocks(key_caches, value_caches, block_mapping):
    pairs = block_mapping.shape[0]
    if pairs == 0:
        return
    for keys, values in zip(key_caches, value_caches, strict=True):
        size = keys.stride(0)
        copy_kernel[(pairs, triton.cdiv(size, 2048))](keys, values, block_mapping, size, BLOCK=2048)
