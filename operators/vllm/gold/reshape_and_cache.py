import triton
import triton.language as tl


@triton.jit
def to_e4m3(x):
    # Round to nearest even on the bits: 3 bits of mantissa, exponent bias 7, subnormal steps of 2^-9.
    raw = x.to(tl.uint32, bitcast=True)
    sign = (raw >> 24) & 0x80
    size = tl.minimum(tl.abs(x), 448.0)
    bits = size.to(tl.uint32, bitcast=True)
    normal = (bits + 0x7FFFF + ((bits >> 20) & 1) - 0x3C000000) >> 20
    subnormal = (size * 512.0 + 8388608.0).to(tl.uint32, bitcast=True) - 0x4B000000
    code = tl.where(size < 0.015625, subnormal, normal) | sign
    return tl.where((raw & 0x7FFFFFFF) > 0x7F800000, 0x7F, code).to(tl.uint8)


@triton.jit
def reshape_and_cache_kernel(
    key,
    value,
    key_cache,
    value_cache,
    slot_mapping,
    k_scale,
    v_scale,
    key_stride,
    value_stride,
    heads,
    head_size,
    block_size,
    X: tl.constexpr,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        block = slot // block_size
        inside = slot % block_size
        column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        mask = column < heads * head_size
        k = tl.load(key + token * key_stride + column, mask=mask)
        v = tl.load(value + token * value_stride + column, mask=mask)
        # Of one block, column c = head * head_size + d is row c of the values and row c // X of the keys.
        width = heads * head_size
        key_at = ((block * (width // X) + column // X) * block_size + inside) * X + column % X
        value_at = (block * width + column) * block_size + inside
        if FP8:
            k_bytes = to_e4m3(tl.div_rn(k.to(tl.float32), tl.load(k_scale).to(tl.float32)))
            v_bytes = to_e4m3(tl.div_rn(v.to(tl.float32), tl.load(v_scale).to(tl.float32)))
            tl.store(key_cache + key_at, k_bytes, mask=mask)
            tl.store(value_cache + value_at, v_bytes, mask=mask)
        else:
            tl.store(key_cache + key_at, k, mask=mask)
            tl.store(value_cache + value_at, v, mask=mask)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens = slot_mapping.shape[0]
    heads, head_size = key.shape[1], key.shape[2]
    if tokens == 0:
        return
    block = min(triton.next_power_of_2(heads * head_size), 1024)
    reshape_and_cache_kernel[(tokens, triton.cdiv(heads * head_size, block))](
        key,
        value,
        key_cache,
        value_cache,
        slot_mapping,
        k_scale,
        v_scale,
        key.stride(0),
        value.stride(0),
        heads,
        head_size,
        key_cache.shape[3],
        X=key_cache.shape[4],
        FP8=kv_cache_dtype != "auto",
        BLOCK=block,
        num_warps=4,
    )
