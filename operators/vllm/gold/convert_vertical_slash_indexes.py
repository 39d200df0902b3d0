import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(
    block_count,
    block_offset,
    column_count,
    column_index,
    q_seqlens,
    kv_seqlens,
    vertical_indexes,
    slash_indexes,
    heads,
    rows,
    verticals,
    slashes,
    M: tl.constexpr,
    N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """One row of blocks: a walk over verticals and slashes with one pair of pointers."""
    m = tl.program_id(0)
    line = tl.program_id(1).to(tl.int64)
    batch = line // heads
    q = tl.load(q_seqlens + batch)
    kv = tl.load(kv_seqlens + batch)
    if m * M < q:
        vertical_line = vertical_indexes + line * verticals
        slash_line = slash_indexes + line * slashes
        block_row = block_offset + (line * rows + m) * slashes
        column_row = column_index + (line * rows + m) * verticals
        top = (m + 1) * M + kv - (q if CAUSAL else 0)
        current = tl.load(slash_line)
        s = 1
        while (current >= top) & (s < slashes):
            current = tl.load(slash_line + s)
            s += 1
        hi = tl.maximum(top - current, M)
        lo = hi - M
        if current > top:
            lo = top if CAUSAL else kv
            hi = lo + N
        vertical = tl.load(vertical_line)
        taken = 1
        blocks = 0
        columns = 0
        tail = False
        going = True
        while going:
            if vertical < hi:
                if vertical < lo:
                    tl.store(column_row + columns, vertical)
                    columns += 1
                if taken < verticals:
                    vertical = tl.load(vertical_line + taken)
                    taken += 1
                else:
                    vertical = top + N
            else:
                slash = tl.load(slash_line + s, mask=s < slashes, other=-1)
                next_lo = lo
                next_hi = hi
                if (s < slashes) & (CAUSAL | (slash >= m * M)):
                    s += 1
                    end = tl.maximum(top - slash, M)
                    if end > hi + M:
                        next_lo = tl.where(tail, lo, end - M)
                        next_hi = tl.where(tail, hi, end)
                    elif end > hi:
                        hi = tl.where(tail, hi, hi + M)
                        next_hi = hi
                elif CAUSAL | (taken == verticals):
                    if (vertical < kv) & (not CAUSAL):
                        tl.store(column_row + columns, vertical)
                        columns += 1
                    going = False
                else:
                    next_lo = kv
                    next_hi = kv + N
                    tail = True
                if (next_lo != lo) | (not going):
                    while lo < tl.minimum(hi, kv):
                        tl.store(block_row + blocks, lo)
                        blocks += 1
                        lo += N
                lo = next_lo
                hi = next_hi
        tl.store(block_count + line * rows + m, blocks)
        tl.store(column_count + line * rows + m, columns)


def convert_vertical_slash_indexes(
    q_seqlens, kv_seqlens, vertical_indexes, slash_indexes, context_size, block_size_M, block_size_N, causal=True
):
    batch, heads, verticals = vertical_indexes.shape
    slashes = slash_indexes.shape[2]
    rows = triton.cdiv(context_size, block_size_M)
    device = q_seqlens.device
    block_count = torch.zeros((batch, heads, rows), dtype=torch.int32, device=device)
    block_offset = torch.zeros((batch, heads, rows, slashes), dtype=torch.int32, device=device)
    column_count = torch.zeros((batch, heads, rows), dtype=torch.int32, device=device)
    column_index = torch.zeros((batch, heads, rows, verticals), dtype=torch.int32, device=device)
    if batch * heads * rows:
        row_kernel[(rows, batch * heads)](
            block_count,
            block_offset,
            column_count,
            column_index,
            q_seqlens,
            kv_seqlens,
            vertical_indexes,
            slash_indexes,
            heads,
            rows,
            verticals,
            slashes,
            M=block_size_M,
            N=block_size_N,
            CAUSAL=causal,
            num_warps=1,
        )
    return block_count, block_offset, column_count, column_index
