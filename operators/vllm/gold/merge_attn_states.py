import triton
import triton.language as tl


@triton.jit
def merge_kernel(
    out,
    prefix,
    prefix_lse,
    suffix,
    suffix_lse,
    out_lse,
    tokens,
    heads,
    size,
    LSE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    live = row < tokens * heads
    at = row % heads * tokens + row // heads
    infinity = float("inf")
    p = tl.load(prefix_lse + at, mask=live, other=0.0)
    s = tl.load(suffix_lse + at, mask=live, other=0.0)
    p = tl.where(p == infinity, -infinity, p)
    s = tl.where(s == infinity, -infinity, s)
    top = tl.maximum(p, s)
    none = top == -infinity
    safe = tl.where(none, 0.0, top)
    a = tl.where(none, 1.0, tl.exp(p - safe))
    b = tl.exp(s - safe)
    total = a + b
    if LSE:
        tl.store(out_lse + at, tl.where(none, -infinity, tl.log(total) + safe), mask=live)
    column = tl.arange(0, BLOCK)
    mask = live[:, None] & (column < size)[None, :]
    place = row.to(tl.int64)[:, None] * size + column[None, :]
    x = tl.load(prefix + place, mask=mask).to(tl.float32)
    y = tl.load(suffix + place, mask=mask).to(tl.float32)
    tl.store(out + place, x * (a / total)[:, None] + y * (b / total)[:, None], mask=mask)


def merge_attn_states(output, prefix_output, prefix_lse, suffix_output, suffix_lse, output_lse=None):
    tokens, heads, size = output.shape
    if output.numel() == 0:
        return
    merge_kernel[(triton.cdiv(tokens * heads, 8),)](
        output,
        prefix_output,
        prefix_lse,
        suffix_output,
        suffix_lse,
        output_lse if output_lse is not None else suffix_lse,
        tokens,
        heads,
        size,
        LSE=output_lse is not None,
        ROWS=8,
        BLOCK=triton.next_power_of_2(size),
    )
