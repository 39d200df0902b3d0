import triton
import triton.language as tl


@triton.jit
def rotate_kernel(
    x, table, positions, stride, heads, size, half, NEOX: tl.constexpr, HEADS: tl.constexpr, HALF: tl.constexpr
):
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token)
    i = tl.arange(0, HALF)
    c = tl.load(table + position * 2 * half + i, mask=i < half).to(tl.float32)
    s = tl.load(table + position * 2 * half + half + i, mask=i < half).to(tl.float32)
    head = tl.arange(0, HEADS)
    mask = (head < heads)[:, None] & (i < half)[None, :]
    place = x + token * stride + head[:, None] * size
    if NEOX:
        first = place + i[None, :]
        second = first + half
    else:
        first = place + 2 * i[None, :]
        second = first + 1
    a = tl.load(first, mask=mask).to(tl.float32)
    b = tl.load(second, mask=mask).to(tl.float32)
    tl.store(first, a * c[None, :] - b * s[None, :], mask=mask)
    tl.store(second, b * c[None, :] + a * s[None, :], mask=mask)


def rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
    tokens, half = positions.numel(), cos_sin_cache.shape[1] // 2
    if tokens == 0:
        return
    for x in (query, key):
        if x is None:
            continue
        heads = x.numel() // tokens // head_size
        rotate_kernel[(tokens,)](
            x,
            cos_sin_cache,
            positions,
            x.stride(positions.dim() - 1),
            heads,
            head_size,
            half,
            NEOX=is_neox,
            HEADS=triton.next_power_of_2(heads),
            HALF=triton.next_power_of_2(half),
        )
