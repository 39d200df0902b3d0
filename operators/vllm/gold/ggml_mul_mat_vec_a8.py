import torch
import triton
import triton.language as tl

# Elements and bytes of a block.
BLOCKS = {
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
}


@triton.jit
def byte_at(at, mask):
    return tl.load(at, mask=mask, other=0).to(tl.int32)


@triton.jit
def signed_at(at, mask):
    return tl.load(at, mask=mask, other=0).to(tl.int8, bitcast=True).to(tl.float32)


@triton.jit
def half_at(at, mask):
    bits = byte_at(at, mask) | (byte_at(at + 1, mask) << 8)
    return bits.to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def weight_at(block, e, mask, KIND: tl.constexpr):
    """The value of element e of the block whose bytes begin at `block`."""
    if KIND == 8:
        return half_at(block, mask) * signed_at(block + 2 + e, mask)
    if KIND < 8:
        CODES: tl.constexpr = 2 if KIND == 2 else (4 if KIND == 3 else (6 if KIND == 6 else 8))
        q = (byte_at(block + CODES + e % 16, mask) >> (e // 16 * 4)) & 15
        if KIND >= 6:
            q |= ((byte_at(block + CODES - 4 + e // 8, mask) >> (e % 8)) & 1) << 4
        d = half_at(block, mask)
        if KIND == 3 or KIND == 7:
            return d * q.to(tl.float32) + half_at(block + 2, mask)
        return d * (q - (8 if KIND == 2 else 16)).to(tl.float32)
    half = e // 128
    s = e % 128 // 32
    line = e % 32
    t = e // 16
    if KIND == 10:
        scale = byte_at(block + t, mask)
        q = (byte_at(block + 16 + 32 * half + line, mask) >> (2 * s)) & 3
        taken = half_at(block + 82, mask) * (scale >> 4).to(tl.float32)
        return half_at(block + 80, mask) * ((scale & 15) * q).to(tl.float32) - taken
    if KIND == 11:
        q = (byte_at(block + 32 + 32 * half + line, mask) >> (2 * s)) & 3
        high = (byte_at(block + line, mask) >> (4 * half + s)) & 1
        low = (byte_at(block + 96 + t % 8, mask) >> (t // 8 * 4)) & 15
        scale = (low | (((byte_at(block + 104 + t % 4, mask) >> (t // 4 * 2)) & 3) << 4)) - 32
        return half_at(block + 108, mask) * (scale * (q - 4 + 4 * high)).to(tl.float32)
    if KIND == 14:
        low = (byte_at(block + 64 * half + s % 2 * 32 + line, mask) >> (s // 2 * 4)) & 15
        q = low | (((byte_at(block + 128 + 32 * half + line, mask) >> (2 * s)) & 3) << 4)
        scale = signed_at(block + 192 + t, mask)
        return half_at(block + 208, mask) * (scale * (q - 32).to(tl.float32))
    # Q4_K and Q5_K.
    j = e // 32
    q = (byte_at(block + (16 if KIND == 12 else 48) + j // 2 * 32 + line, mask) >> (j % 2 * 4)) & 15
    if KIND == 13:
        q |= ((byte_at(block + 16 + line, mask) >> j) & 1) << 4
    first = byte_at(block + 4 + j % 4, mask)
    second = byte_at(block + 8 + j % 4, mask)
    third = byte_at(block + 12 + j % 4, mask)
    a = tl.where(j < 4, first & 63, (third & 15) | (first >> 6 << 4))
    b = tl.where(j < 4, second & 63, (third >> 4) | (second >> 6 << 4))
    taken = half_at(block + 2, mask) * b.to(tl.float32)
    return half_at(block, mask) * (a * q).to(tl.float32) - taken


@triton.jit
def product_kernel(
    out,
    weight,
    x,
    batch,
    rows,
    K,
    row_bytes,
    KIND: tl.constexpr,
    ELEMENTS: tl.constexpr,
    BYTES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    inside = m < batch
    present = n < rows
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        block = weight + n[None, :] * row_bytes + (k // ELEMENTS * BYTES)[:, None]
        w = weight_at(block, (k % ELEMENTS)[:, None], (k < K)[:, None] & present[None, :], KIND)
        left = tl.load(x + m[:, None] * K + k[None, :], mask=inside[:, None] & (k < K)[None, :], other=0.0)
        total = tl.dot(left, w.to(left.dtype), total, input_precision="ieee")
    at = out + m[:, None] * rows + n[None, :]
    tl.store(at, total.to(out.dtype.element_ty), mask=inside[:, None] & present[None, :])


def ggml_mul_mat_vec_a8(W, X, quant_type, row):
    batch, K = X.shape
    out = torch.empty((batch, row), dtype=X.dtype, device=X.device)
    if out.numel() == 0:
        return out
    elements, size = BLOCKS[quant_type]
    block_m = 16
    product_kernel[(triton.cdiv(batch, block_m), triton.cdiv(row, 32))](
        out,
        W,
        X,
        batch,
        row,
        K,
        K // elements * size,
        KIND=quant_type,
        ELEMENTS=elements,
        BYTES=size,
        BLOCK_M=block_m,
        BLOCK_N=32,
        # Products of fp32 are no tensor core's: a long step would only be unrolled.
        BLOCK_K=32 if X.dtype == torch.float32 else 64,
    )
    return out
