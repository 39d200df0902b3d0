import triton
import triton.language as tl


@triton.jit
def norm_rope_kernel(
    qkv, q_weight, k_weight, table, positions, all_heads, heads_q, heads, eps, NEOX: tl.constexpr, D: tl.constexpr
):
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * 8 + tl.arange(0, 8)
    i = tl.arange(0, D // 2)
    if NEOX:
        first = i
        second = i + D // 2
    else:
        first = 2 * i
        second = 2 * i + 1
    mask = (head < heads)[:, None] & (i >= 0)[None, :]
    place = qkv + (token * all_heads + head)[:, None] * D
    a = tl.load(place + first[None, :], mask=mask).to(tl.float32)
    b = tl.load(place + second[None, :], mask=mask).to(tl.float32)
    factor = tl.rsqrt(tl.sum(a * a + b * b, axis=1) / D + eps)[:, None]
    query = (head < heads_q)[:, None]
    a = a * factor * tl.where(query, tl.load(q_weight + first)[None, :], tl.load(k_weight + first)[None, :])
    b = b * factor * tl.where(query, tl.load(q_weight + second)[None, :], tl.load(k_weight + second)[None, :])
    row = table + tl.load(positions + token) * D
    c = tl.load(row + i).to(tl.float32)[None, :]
    s = tl.load(row + D // 2 + i).to(tl.float32)[None, :]
    tl.store(place + first[None, :], a * c - b * s, mask=mask)
    tl.store(place + second[None, :], b * c + a * s, mask=mask)


def fused_qk_norm_rope(
    qkv, num_heads_q, num_heads_k, num_heads_v, head_dim, eps, q_weight, k_weight, cos_sin_cache, is_neox, position_ids
):
    tokens, heads = qkv.shape[0], num_heads_q + num_heads_k
    if tokens == 0:
        return
    norm_rope_kernel[(tokens, triton.cdiv(heads, 8))](
        qkv,
        q_weight,
        k_weight,
        cos_sin_cache,
        position_ids,
        heads + num_heads_v,
        num_heads_q,
        heads,
        eps,
        NEOX=is_neox,
        D=head_dim,
    )
