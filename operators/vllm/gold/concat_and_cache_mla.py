import torch
import triton
import triton.language as tl


@triton.jit
def concat_kernel(
    kv_c,
    k_pe,
    cache,
    slot_mapping,
    scale,
    latent_stride,
    rope_stride,
    block_stride,
    rank,
    rope,
    block_size,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        column = tl.arange(0, BLOCK)
        mask = column < rank + rope
        a = tl.load(kv_c + token * latent_stride + column, mask=column < rank, other=0.0)
        b = tl.load(k_pe + token * rope_stride + column - rank, mask=mask & (column >= rank), other=0.0)
        x = tl.where(column < rank, a, b)
        place = cache + slot // block_size * block_stride + slot % block_size * (rank + rope) + column
        if FP8:
            code = tl.div_rn(x.to(tl.float32), tl.load(scale)).to(tl.float8e4nv)
            tl.store(place, code.to(tl.uint8, bitcast=True), mask=mask)
        else:
            tl.store(place, x, mask=mask)


@triton.jit
def tiles_kernel(kv_c, k_pe, cache, slot_mapping, latent_stride, rope_stride, block_stride, block_size):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        place = cache + slot // block_size * block_stride + slot % block_size * 656
        tile = tl.arange(0, 4)
        column = tile[:, None] * 128 + tl.arange(0, 128)[None, :]
        x = tl.load(kv_c + token * latent_stride + column).to(tl.float32)
        scale = tl.maximum(tl.div_rn(tl.max(tl.abs(x), axis=1), 448.0), 1.1754943508222875e-38)
        code = tl.div_rn(x, scale[:, None] + tl.zeros_like(x)).to(tl.float8e4nv)
        tl.store(place + column, code.to(tl.uint8, bitcast=True))
        byte = tl.arange(0, 4)
        bits = scale.to(tl.uint32, bitcast=True)
        tl.store(place + 512 + tile[:, None] * 4 + byte[None, :], (bits[:, None] >> (byte * 8)[None, :]).to(tl.uint8))
        element = tl.arange(0, 64)
        half = tl.load(k_pe + token * rope_stride + element).to(tl.uint16, bitcast=True)
        tl.store(place + 528 + element * 2, half.to(tl.uint8))
        tl.store(place + 529 + element * 2, (half >> 8).to(tl.uint8))


def concat_and_cache_mla(kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype, scale):
    tokens = slot_mapping.shape[0]
    if tokens == 0:
        return
    strides = (kv_c.stride(0), k_pe.stride(0), kv_cache.stride(0))
    block_size = kv_cache.shape[1]
    if kv_cache_dtype == "fp8_ds_mla":
        tiles_kernel[(tokens,)](kv_c, k_pe, kv_cache, slot_mapping, *strides, block_size)
        return
    rank, rope = kv_c.shape[1], k_pe.shape[1]
    concat_kernel[(tokens,)](
        kv_c,
        k_pe,
        kv_cache,
        slot_mapping,
        scale,
        *strides,
        rank,
        rope,
        block_size,
        FP8=kv_cache.dtype == torch.uint8,
        BLOCK=triton.next_power_of_2(rank + rope),
    )
