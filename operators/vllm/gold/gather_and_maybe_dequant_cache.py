import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(
    src,
    dst,
    table,
    cu_seq_lens,
    token_to_seq,
    tokens,
    scale,
    starts,
    block_size,
    table_stride,
    STARTS: tl.constexpr,
    FP8: tl.constexpr,
    TOKENS: tl.constexpr,
):
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    live = token < tokens
    sequence = tl.load(token_to_seq + token, mask=live, other=0)
    live = live & (token < tl.load(cu_seq_lens + sequence + 1))
    place = token - tl.load(cu_seq_lens + sequence)
    if STARTS:
        place += tl.load(starts + sequence)
    block = tl.load(table + sequence * table_stride + place // block_size, mask=live).to(tl.int64)
    row = block * block_size + place % block_size
    column = tl.arange(0, 1024)
    mask = live[:, None] & (column < 576)[None, :]
    value = tl.load(src + row[:, None] * 576 + column[None, :], mask=mask)
    if FP8:
        value = value.to(tl.float8e4nv, bitcast=True).to(tl.float32) * tl.load(scale)
    tl.store(dst + token.to(tl.int64)[:, None] * 576 + column[None, :], value, mask=mask)


def gather_and_maybe_dequant_cache(
    src_cache, dst, block_table, cu_seq_lens, token_to_seq, num_tokens, kv_cache_dtype, scale, seq_starts=None
):
    if num_tokens == 0:
        return
    gather_kernel[(triton.cdiv(num_tokens, 4),)](
        src_cache,
        dst,
        block_table,
        cu_seq_lens,
        token_to_seq,
        num_tokens,
        scale,
        seq_starts if seq_starts is not None else cu_seq_lens,
        src_cache.shape[1],
        block_table.stride(0),
        STARTS=seq_starts is not None,
        FP8=src_cache.dtype == torch.uint8,
        TOKENS=4,
    )
