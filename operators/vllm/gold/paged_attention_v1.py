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
    ]
)
def attention_kernel(
    out,
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
    length = tl.load(seq_lens + seq)
    result, _, total = attend(
        query,
        key_cache,
        value_cache,
        tables + seq * table_stride,
        slopes,
        k_scale,
        v_scale,
        seq,
        kv_head,
        0,
        length,
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
    at = (seq * kv_heads * group + kv_head * group + member)[:, None] * size + column[None, :]
    mask = (member < group)[:, None] & (column < size)[None, :]
    tl.store(out + at, result / (total + 1e-6)[:, None], mask=mask)


def paged_attention_v1(
    out,
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
    attention_kernel[(seqs, num_kv_heads)](
        out,
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
