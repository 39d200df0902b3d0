import torch
import triton
import triton.language as tl


@triton.jit
def attend(
    query,
    key_cache,
    value_cache,
    table,
    slopes,
    k_scale,
    v_scale,
    seq,
    kv_head,
    start,
    stop,
    length,
    scale,
    group,
    kv_heads,
    size,
    query_stride,
    rank_heads,
    rank_kv_heads,
    local_blocks,
    vert_stride,
    sparse_size,
    step,
    alibi,
    FP8: tl.constexpr,
    X: tl.constexpr,
    page_size,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
):
    # One key head and its query heads over the tokens from start to stop: unnormalised sum, maxima, sums of exponentials.
    member = tl.arange(0, GROUP)
    head = kv_head * group + member
    column = tl.arange(0, SIZE)
    inner = column < size
    at = seq * query_stride + head[:, None] * size + column[None, :]
    q = tl.load(query + at, mask=(member < group)[:, None] & inner[None, :], other=0.0)
    slope = tl.load(slopes + head, mask=member < group * alibi, other=0.0)
    sliding = (rank_heads + head) * step + 1
    if step < 0:
        sliding = (rank_kv_heads + kv_head + member * 0) * -step + 1
    top = tl.full((GROUP,), -1e30, tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    result = tl.zeros((GROUP, SIZE), tl.float32)
    for first in range(start, stop, TILE):
        token = first + tl.arange(0, TILE)
        live = token < stop
        block = tl.load(table + token // page_size, mask=live, other=0).to(tl.int64)
        base = (block * kv_heads + kv_head) * size * page_size
        inside = token % page_size
        mask = inner[:, None] & live[None, :]
        k_at = base[None, :] + (column // X)[:, None] * (page_size * X) + inside[None, :] * X + (column % X)[:, None]
        k = tl.load(key_cache + k_at, mask=mask, other=0)
        v_mask = live[:, None] & inner[None, :]
        v_at = base[:, None] + column[None, :] * page_size + inside[:, None]
        v = tl.load(value_cache + v_at, mask=v_mask, other=0)
        if FP8:
            k = (k.to(tl.float8e4nv, bitcast=True).to(tl.float32) * tl.load(k_scale)).to(q.dtype)
            v = (v.to(tl.float8e4nv, bitcast=True).to(tl.float32) * tl.load(v_scale)).to(q.dtype)
        logit = tl.dot(q, k, input_precision="ieee") * scale
        logit += slope[:, None] * (token - length + 1).to(tl.float32)[None, :]
        seen = live[None, :] & (member >= 0)[:, None]
        kb = token // page_size * page_size // sparse_size
        local = kb > (length - 1) // sparse_size - local_blocks
        seen = seen & (local[None, :] | ((kb[None, :] + sliding[:, None]) % vert_stride == 0))
        logit = tl.where(seen, logit, float("-inf"))
        now = tl.maximum(top, tl.max(logit, axis=1))
        p = tl.exp(logit - now[:, None])
        shrink = tl.exp(top - now)
        total = total * shrink + tl.sum(p, axis=1)
        result = result * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = now
    return result, top, total


# One kernel for all sizes: nothing is compiled anew for a size that is 1 or a multiple of 16.
@triton.jit(
    do_not_specialize=[
        "scale",
        "group",
        "kv_heads",
        "size",
        "query_stride",
        "table_stride",
        "rank_heads",
        "rank_kv_heads",
        "local_blocks",
        "vert_stride",
        "sparse_size",
        "step",
        "alibi",
        "page_size",
        "parts",
    ]
)
def partition_kernel(
    exp_sum,
    max_logits,
    tmp_out,
    parts,
    query,
    key_cache,
    value_cache,
    tables,
    seq_lens,
    slopes,
    k_scale,
    v_scale,
    table_stride,
    scale,
    group,
    kv_heads,
    size,
    query_stride,
    rank_heads,
    rank_kv_heads,
    local_blocks,
    vert_stride,
    sparse_size,
    step,
    alibi,
    FP8: tl.constexpr,
    X: tl.constexpr,
    page_size,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    TILE: tl.constexpr,
):
    seq = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    part = tl.program_id(2)
    length = tl.load(seq_lens + seq)
    start = part * 512
    if start < length:
        result, top, total = attend(
            query,
            key_cache,
            value_cache,
            tables + seq * table_stride,
            slopes,
            k_scale,
            v_scale,
            seq,
            kv_head,
            start,
            tl.minimum(length, start + 512),
            length,
            scale,
            group,
            kv_heads,
            size,
            query_stride,
            rank_heads,
            rank_kv_heads,
            local_blocks,
            vert_stride,
            sparse_size,
            step,
            alibi,
            FP8,
            X,
            page_size,
            GROUP,
            SIZE,
            TILE,
        )
        member = tl.arange(0, GROUP)
        column = tl.arange(0, SIZE)
        row = ((seq * kv_heads + kv_head) * group + member) * parts + part
        mask = (member < group)[:, None] & (column < size)[None, :]
        # A partition without a token to attend to has sum and weight 0.
        share = tl.where(total > 0, total, 1.0)
        tl.store(tmp_out + row[:, None] * size + column[None, :], result / share[:, None], mask=mask)
        tl.store(exp_sum + row, total, mask=member < group)
        tl.store(max_logits + row, top, mask=member < group)


@triton.jit
def combine_kernel(
    out, exp_sum, max_logits, tmp_out, seq_lens, parts, heads, size, PARTS: tl.constexpr, SIZE: tl.constexpr
):
    seq = tl.program_id(0).to(tl.int64)
    row = seq * heads + tl.program_id(1)
    count = (tl.load(seq_lens + seq) + 511) // 512
    part = tl.arange(0, PARTS)
    column = tl.arange(0, SIZE)
    tops = tl.load(max_logits + row * parts + part, mask=part < count, other=-1e30)
    sums = tl.load(exp_sum + row * parts + part, mask=part < count, other=0.0)
    weight = sums * tl.exp(tops - tl.max(tops, axis=0))
    weight = weight / (tl.sum(weight, axis=0) + 1e-6)
    mask = (part < count)[:, None] & (column < size)[None, :]
    at = (row * parts + part)[:, None] * size + column[None, :]
    value = tl.load(tmp_out + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * size + column, tl.sum(weight[:, None] * value, axis=0), mask=column < size)


def paged_attention_v2(
    out,
    exp_sum,
    max_logits,
    tmp_out,
    query,
    key_cache,
    value_cache,
    num_kv_heads,
    scale,
    block_tables,
    seq_lens,
    block_size,
    max_seq_len,
    alibi_slopes,
    kv_cache_dtype,
    k_scale,
    v_scale,
    tp_rank=0,
    blocksparse_local_blocks=0,
    blocksparse_vert_stride=0,
    blocksparse_block_size=64,
    blocksparse_head_sliding_step=0,
):
    seqs, heads, size = query.shape
    group = heads // num_kv_heads
    parts = exp_sum.shape[2]
    partition_kernel[(seqs, num_kv_heads, parts)](
        exp_sum,
        max_logits,
        tmp_out,
        parts,
        query,
        key_cache,
        value_cache,
        block_tables,
        seq_lens,
        alibi_slopes if alibi_slopes is not None else k_scale,
        k_scale,
        v_scale,
        block_tables.stride(0),
        scale,
        group,
        num_kv_heads,
        size,
        query.stride(0),
        tp_rank * heads,
        tp_rank * num_kv_heads,
        blocksparse_local_blocks,
        max(1, blocksparse_vert_stride),
        blocksparse_block_size,
        blocksparse_head_sliding_step,
        alibi=int(alibi_slopes is not None),
        FP8=key_cache.dtype == torch.uint8,
        X=key_cache.shape[4],
        page_size=block_size,
        GROUP=max(16, triton.next_power_of_2(group)),
        SIZE=triton.next_power_of_2(size),
        TILE=64,
    )
    combine_kernel[(seqs, heads)](
        out,
        exp_sum,
        max_logits,
        tmp_out,
        seq_lens,
        parts,
        heads,
        size,
        PARTS=triton.next_power_of_2(parts),
        SIZE=triton.next_power_of_2(size),
    )
