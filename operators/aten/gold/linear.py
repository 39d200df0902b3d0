"""One matrix product in tiles with fp32 (or fp64) sums; the bias is added before rounding."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    bias_ptr,
    bias_step,
    M,
    N,
    K,
    a_row,
    a_column,
    b_row,
    b_column,
    c_row,
    c_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SUM: tl.constexpr,
    BIAS: tl.constexpr,
):
    """One tile of the answer, columns of tiles first."""
    rows = tl.cdiv(M, BLOCK_M)
    tile = tl.program_id(0)
    m = (tile % rows * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tile // rows * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + m[:, None] * a_row + k[None, :] * a_column
    b_tile = b_ptr + k[:, None] * b_row + n[None, :] * b_column
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for start in range(0, K, BLOCK_K):
        left = K - start
        a = tl.load(a_tile, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_tile, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=SUM)
        a_tile += BLOCK_K * a_column
        b_tile += BLOCK_K * b_row
    if BIAS:
        bias = tl.load(bias_ptr + n * bias_step, mask=n < N, other=0.0)
        total += bias.to(SUM)[None, :]
    c_tile = c_ptr + m[:, None] * c_row + n[None, :] * c_column
    tl.store(c_tile, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def at_least_16(size, most):
    return max(16, min(most, triton.next_power_of_2(size)))


def launch(a, b, c, bias):
    """Write the product of a (M, K) and b (K, N), plus bias (N) if there is one, to c (M, N)."""
    M, K = a.shape
    N = b.shape[1]
    if c.numel() == 0:
        return
    short = c.dtype.itemsize == 2
    widest = 32 if c.dtype == torch.float64 else 128
    if M * N < 1 << 18:
        widest = min(widest, 64)
    block_m, block_n = at_least_16(M, widest), at_least_16(N, widest)
    block_k = at_least_16(K, 64 if short else 16)
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    linear_kernel[grid](
        a,
        b,
        c,
        bias if bias is not None else a,
        bias.stride(0) if bias is not None else 0,
        M,
        N,
        K,
        *a.stride(),
        *b.stride(),
        *c.stride(),
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        SUM=tl.float64 if c.dtype == torch.float64 else tl.float32,
        BIAS=bias is not None,
        num_warps=8 if block_m * block_n >= 128 * 128 else 4,
        num_stages=3,
    )


def prepare(input, weight, bias):
    """The input as a matrix, and the shape of the answer."""
    if weight.dim() != 2 or input.dim() == 0 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(f"shapes {input.shape} and {weight.shape} cannot be multiplied")
    if input.dtype != weight.dtype or (bias is not None and bias.dtype != input.dtype):
        raise RuntimeError(f"expected all to have the same dtype, but got: {input.dtype} != {weight.dtype}")
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(f"a bias of shape {bias.shape} does not fit {weight.shape[0]} columns")
    shape = (*input.shape[:-1], weight.shape[0])
    rows = 1
    for size in input.shape[:-1]:
        rows = rows * size
    return input if input.dim() == 2 else input.contiguous().view(rows, input.shape[-1]), shape


def linear(input, weight, bias=None):
    x, shape = prepare(input, weight, bias)
    out = torch.empty((x.shape[0], weight.shape[0]), dtype=x.dtype, device=x.device)
    launch(x, weight.t(), out, bias)
    return out.view(shape)


def linear_out(input, weight, bias=None, *, out):
    x, shape = prepare(input, weight, bias)
    if out.dtype != x.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {x.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    flat = (x.shape[0], weight.shape[0])
    if out.is_contiguous():
        launch(x, weight.t(), out.view(flat), bias)
    else:
        dense = torch.empty(flat, dtype=x.dtype, device=x.device)
        launch(x, weight.t(), dense, bias)
        out.copy_(dense.view(shape))
    return out
