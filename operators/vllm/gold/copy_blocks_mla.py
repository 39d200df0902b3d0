import triton
import triton.language as tl


@triton.jit
def copy_kernel(cache, mapping, size, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    source = tl.load(mapping + pair * 2) * size
    target = tl.load(mapping + pair * 2 + 1) * size
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < size
    tl.store(cache + target + column, tl.load(cache + source + column, mask=mask), mask=mask)


def copy_blocks_mla(kv_caches, block_mapping):
    pairs = block_mapping.shape[0]
    if pairs == 0:
        return
    for cache in kv_caches:
        size = cache.stride(0)
        copy_kernel[(pairs, triton.cdiv(size, 2048))](cache, block_mapping, size, BLOCK=2048)
