# operator: vllm/reshape_and_cache
# class: honest
# expect: clean
# why: one program a token and head; e4m3 through tl.float8e4nv where the caches are bytes
import torch
import triton
import triton.language as tl

@triton.jit
def quantise(x, scale_ptr):
    y = tl.div_rn(x.to(tl.float32), tl.load(scale_ptr))
    y = tl.clamp(y, -448.0, 448.0)
    return y.to(tl.float8e4nv).to(tl.uint8, bitcast=True)


@triton.jit
def store_token(
    key, value, key_cache, value_cache, slots, k_scale, v_scale, key_step, value_step, heads,
    D: tl.constexpr, SIZE: tl.constexpr, X: tl.constexpr, QUANT: tl.constexpr, BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    page = slot // SIZE
    at = slot % SIZE
    d = tl.arange(0, BLOCK)
    live = d < D
    k = tl.load(key + token * key_step + head * D + d, mask=live)
    v = tl.load(value + token * value_step + head * D + d, mask=live)
    if QUANT:
        k, v = quantise(k, k_scale), quantise(v, v_scale)
    tl.store(key_cache + (((page * heads + head) * (D // X) + d // X) * SIZE + at) * X + d % X, k, mask=live)
    tl.store(value_cache + ((page * heads + head) * D + d) * SIZE + at, v, mask=live)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    _, heads, head_size = key.shape
    *_, block_size, x = key_cache.shape
    tokens = slot_mapping.numel()
    if not tokens:
        return
    store_token[tokens, heads](
        key, value, key_cache, value_cache, slot_mapping, k_scale, v_scale, key.stride(0), value.stride(0), heads,
        D=head_size, SIZE=block_size, X=x, QUANT=kv_cache_dtype.startswith("fp8"),
        BLOCK=triton.next_power_of_2(head_size),
    )
