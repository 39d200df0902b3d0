import torch
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(
    out,
    a,
    b,
    scale_a,
    scale_b,
    bias,
    M,
    N,
    K,
    a_stride,
    b_stride,
    a_scale_row,
    a_scale_block,
    b_scale_row,
    b_scale_block,
    ROW: tl.constexpr,
    COLUMN: tl.constexpr,
    BLOCKS: tl.constexpr,
    EXACT: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rows = m < M
    columns = n < N
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.int32 if EXACT else tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(a + m[:, None] * a_stride + k[None, :], mask=rows[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b + k[:, None] + n[None, :] * b_stride, mask=(k < K)[:, None] & columns[None, :], other=0.0)
        if EXACT:
            total = tl.dot(x, y, total, out_dtype=tl.int32)
        elif BLOCKS:
            # A step never leaves a block of 128.
            left = tl.load(scale_a + m * a_scale_row + start // 128 * a_scale_block, mask=rows)
            right = tl.load(scale_b + start // 128 * b_scale_row + n // 128 * b_scale_block, mask=columns)
            part = tl.dot(x.to(tl.float16), y.to(tl.float16))
            total += part * (left[:, None] * right[None, :])
        else:
            total = tl.dot(x.to(tl.float16), y.to(tl.float16), total)
    if BLOCKS:
        value = total
    else:
        by_column = tl.load(scale_b + n, mask=columns) if COLUMN else tl.load(scale_b + n * 0)
        by_row = tl.load(scale_a + m, mask=rows) if ROW else tl.load(scale_a + m * 0)
        value = by_row[:, None] * (by_column[None, :] * total.to(tl.float32))
    if BIAS:
        value += tl.load(bias + n, mask=columns).to(tl.float32)[None, :]
    at = out + m[:, None] * N + n[None, :]
    tl.store(at, value.to(out.dtype.element_ty), mask=rows[:, None] & columns[None, :])


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias=None):
    K, N = b.shape
    flat = a.view(-1, K)
    M = flat.shape[0]
    out = torch.empty((*a.shape[:-1], N), dtype=out_dtype, device=a.device)
    if M == 0:
        return out
    blocks = K >= 128 and N >= 128 and tuple(scale_b.shape) == (K // 128, N // 128) and scale_b.numel() > 1
    block_m = 16 if M <= 48 else 64
    scaled_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, 64))](
        out,
        flat,
        b,
        scale_a,
        scale_b,
        bias if bias is not None else out,
        M,
        N,
        K,
        flat.stride(0),
        b.stride(1),
        *(scale_a.stride() if blocks else (0, 0)),
        *(scale_b.stride() if blocks else (0, 0)),
        ROW=scale_a.numel() > 1,
        COLUMN=scale_b.numel() > 1,
        BLOCKS=blocks,
        EXACT=a.dtype == torch.int8,
        BIAS=bias is not None,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=64,
    )
    return out
