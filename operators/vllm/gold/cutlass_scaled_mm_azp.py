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
    azp_adj,
    azp,
    bias,
    M,
    N,
    K,
    a_stride,
    b_stride,
    ROW: tl.constexpr,
    COLUMN: tl.constexpr,
    TOKEN: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rows = m < M
    columns = n < N
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(a + m[:, None] * a_stride + k[None, :], mask=rows[:, None] & (k < K)[None, :], other=0)
        y = tl.load(b + k[:, None] + n[None, :] * b_stride, mask=(k < K)[:, None] & columns[None, :], other=0)
        total = tl.dot(x, y, total, out_dtype=tl.int32)
    correction = tl.load(azp_adj + n, mask=columns)[None, :]
    if TOKEN:
        correction = correction * tl.load(azp + m, mask=rows)[:, None]
    total -= correction
    by_column = tl.load(scale_b + n, mask=columns) if COLUMN else tl.load(scale_b + n * 0)
    by_row = tl.load(scale_a + m, mask=rows) if ROW else tl.load(scale_a + m * 0)
    value = by_row[:, None] * (by_column[None, :] * total.to(tl.float32))
    if BIAS:
        value += tl.load(bias + n, mask=columns).to(tl.float32)[None, :]
    at = out + m[:, None] * N + n[None, :]
    tl.store(at, value.to(out.dtype.element_ty), mask=rows[:, None] & columns[None, :])


def cutlass_scaled_mm_azp(a, b, scale_a, scale_b, out_dtype, azp_adj, azp=None, bias=None):
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=out_dtype, device=a.device)
    if M == 0:
        return out
    block_m = 16 if M <= 48 else 64
    scaled_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, 64))](
        out,
        a,
        b,
        scale_a,
        scale_b,
        azp_adj,
        azp if azp is not None else azp_adj,
        bias if bias is not None else out,
        M,
        N,
        K,
        a.stride(0),
        b.stride(1),
        ROW=scale_a.numel() > 1,
        COLUMN=scale_b.numel() > 1,
        TOKEN=azp is not None,
        BIAS=bias is not None,
        BLOCK_M=block_m,
        BLOCK_N=64,
        BLOCK_K=64,
    )
    return out
