import triton
import triton.language as tl


@triton.jit
def gather_kernel(
    src,
    dst,
    table,
    cu_seq_lens,
    starts,
    tokens,
    batch,
    width,
    block_size,
    table_stride,
    STARTS: tl.constexpr,
    BATCH: tl.constexpr,
    TOKENS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    live = token < tokens
    # The sequence of a token is the number of sequences that end at or before it.
    ends = tl.arange(0, BATCH)
    end = tl.load(cu_seq_lens + 1 + ends, mask=ends < batch, other=2147483647)
    sequence = tl.sum((end[None, :] <= token[:, None]).to(tl.int32), axis=1)
    place = token - tl.load(cu_seq_lens + sequence, mask=live)
    if STARTS:
        place += tl.load(starts + sequence, mask=live)
    block = tl.load(table + sequence * table_stride + place // block_size, mask=live).to(tl.int64)
    row = block * block_size + place % block_size
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = live[:, None] & (column < width)[None, :]
    value = tl.load(src + row[:, None] * width + column[None, :], mask=mask)
    tl.store(dst + token.to(tl.int64)[:, None] * width + column[None, :], value, mask=mask)


def cp_gather_cache(src_cache, dst, block_table, cu_seq_lens, batch_size, seq_starts=None):
    tokens = dst.shape[0]
    if tokens == 0:
        return
    width = dst.stride(0)
    block = min(triton.next_power_of_2(width), 512)
    gather_kernel[(triton.cdiv(tokens, 8), triton.cdiv(width, block))](
        src_cache,
        dst,
        block_table,
        cu_seq_lens,
        seq_starts if seq_starts is not None else cu_seq_lens,
        tokens,
        batch_size,
        width,
        src_cache.shape[1],
        block_table.stride(0),
        STARTS=seq_starts is not None,
        BATCH=triton.next_power_of_2(batch_size),
        TOKENS=8,
        BLOCK=block,
    )
