import triton
import triton.language as tl


@triton.jit
def reshape_and_cache_flash_kernel(
    key,
    value,
    key_cache,
    value_cache,
    slot_mapping,
    k_scale,
    v_scale,
    key_stride,
    value_stride,
    block_stride,
    slot_stride,
    head_stride,
    heads,
    head_size,
    block_size,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        mask = column < heads * head_size
        k = tl.load(key + token * key_stride + column, mask=mask)
        v = tl.load(value + token * value_stride + column, mask=mask)
        place = slot // block_size * block_stride + slot % block_size * slot_stride
        at = place + column // head_size * head_stride + column % head_size
        if FP8:
            k_code = tl.div_rn(k.to(tl.float32), tl.load(k_scale)).to(tl.float8e4nv)
            v_code = tl.div_rn(v.to(tl.float32), tl.load(v_scale)).to(tl.float8e4nv)
            tl.store(key_cache + at, k_code.to(tl.uint8, bitcast=True), mask=mask)
            tl.store(value_cache + at, v_code.to(tl.uint8, bitcast=True), mask=mask)
        else:
            tl.store(key_cache + at, k, mask=mask)
            tl.store(value_cache + at, v, mask=mask)


def reshape_and_cache_flash(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens = slot_mapping.shape[0]
    heads, head_size = key.shape[1], key.shape[2]
    if tokens == 0:
        return
    block = min(triton.next_power_of_2(heads * head_size), 1024)
    reshape_and_cache_flash_kernel[(tokens, triton.cdiv(heads * head_size, block))](
        key,
        value,
        key_cache,
        value_cache,
        slot_mapping,
        k_scale,
        v_scale,
        key.stride(0),
        value.stride(0),
        key_cache.stride(0),
        key_cache.stride(1),
        key_cache.stride(2),
        heads,
        head_size,
        key_cache.shape[1],
        FP8=kv_cache_dtype != "auto",
        BLOCK=block,
    )
