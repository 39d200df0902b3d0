import triton
import triton.language as tl


@triton.jit
def gather_kernel(
    cache,
    keys,
    scales,
    table,
    cu_seq_lens,
    tokens,
    batch,
    block_size,
    block_stride,
    table_stride,
    WIDTH: tl.constexpr,
    BATCH: tl.constexpr,
    TOKENS: tl.constexpr,
):
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    live = token < tokens
    # The sequence of a token is the number of sequences that end at or before it.
    ends = tl.arange(0, BATCH)
    end = tl.load(cu_seq_lens + 1 + ends, mask=ends < batch, other=2147483647)
    sequence = tl.sum((end[None, :] <= token[:, None]).to(tl.int32), axis=1)
    place = token - tl.load(cu_seq_lens + sequence, mask=live)
    block = tl.load(table + sequence * table_stride + place // block_size, mask=live).to(tl.int64)
    inside = place % block_size
    begin = cache + block * block_stride
    byte = tl.arange(0, WIDTH)
    mask = live[:, None]
    code = tl.load((begin + inside * WIDTH)[:, None] + byte[None, :], mask=mask)
    tl.store(keys + token[:, None] * WIDTH + byte[None, :], code, mask=mask)
    part = tl.arange(0, WIDTH // 32)
    scale = tl.load((begin + block_size * WIDTH + inside * (WIDTH // 32))[:, None] + part[None, :], mask=mask)
    tl.store(scales + token[:, None] * (WIDTH // 32) + part[None, :], scale, mask=mask)


def cp_gather_indexer_k_quant_cache(kv_cache, dst_k, dst_scale, block_table, cu_seq_lens):
    tokens, batch = dst_k.shape[0], block_table.shape[0]
    if tokens == 0:
        return
    gather_kernel[(triton.cdiv(tokens, 16),)](
        kv_cache,
        dst_k,
        dst_scale,
        block_table,
        cu_seq_lens,
        tokens,
        batch,
        kv_cache.shape[1],
        kv_cache.stride(0),
        block_table.stride(0),
        WIDTH=dst_k.shape[1],
        BATCH=triton.next_power_of_2(batch),
        TOKENS=16,
    )
