"""Matrix products item by item, in tiles with fp32 (or fp64) sums; all strides are taken as they are."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_batch,
    a_row,
    a_column,
    b_batch,
    b_row,
    b_column,
    c_batch,
    c_row,
    c_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SUM: tl.constexpr,
):
    """One tile of one item's answer; the tiles of an item follow each other, columns of tiles first."""
    rows = tl.cdiv(M, BLOCK_M)
    tiles = rows * tl.cdiv(N, BLOCK_N)
    item = (tl.program_id(0) // tiles).to(tl.int64)
    tile = tl.program_id(0) % tiles
    m = (tile % rows * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tile // rows * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + item * a_batch + m[:, None] * a_row + k[None, :] * a_column
    b_tile = b_ptr + item * b_batch + k[:, None] * b_row + n[None, :] * b_column
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for start in range(0, K, BLOCK_K):
        left = K - start
        a = tl.load(a_tile, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_tile, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=SUM)
        a_tile += BLOCK_K * a_column
        b_tile += BLOCK_K * b_row
    c_tile = c_ptr + item * c_batch + m[:, None] * c_row + n[None, :] * c_column
    tl.store(c_tile, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def at_least_16(size, most):
    return max(16, min(most, triton.next_power_of_2(size)))


def launch(a, b, c):
    """Write the products of a (B, M, K) and b (B, K, N) to c (B, M, N)."""
    items, M, K = a.shape
    N = b.shape[2]
    if c.numel() == 0:
        return
    short = c.dtype.itemsize == 2
    widest = 32 if c.dtype == torch.float64 else 128
    if M * N * items < 1 << 18:
        widest = min(widest, 64)
    block_m, block_n = at_least_16(M, widest), at_least_16(N, widest)
    block_k = at_least_16(K, 64 if short else 16)
    grid = (items * triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    bmm_kernel[grid](
        a,
        b,
        c,
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
        num_warps=8 if block_m * block_n >= 128 * 128 else 4,
        num_stages=3,
    )


def check(self, mat2):
    if self.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("self and mat2 must be batches of matrices")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"batches of shapes {self.shape} and {mat2.shape} cannot be multiplied")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected scalar type {self.dtype} but found {mat2.dtype}")
    return (self.shape[0], self.shape[1], mat2.shape[2])


def bmm(self, mat2):
    out = torch.empty(check(self, mat2), dtype=self.dtype, device=self.device)
    launch(self, mat2, out)
    return out


def bmm_out(self, mat2, *, out):
    shape = check(self, mat2)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    launch(self, mat2, out)
    return out
