"""Every product becomes one of batches of matrices, made in tiles with fp32 (or fp64) sums."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
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
    matmul_kernel[grid](
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


def broadcast(first, second):
    """The common shape of two shapes."""
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + tuple(first)
    b = (1,) * (rank - len(second)) + tuple(second)
    for dim in range(rank):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def batched(self, other):
    """Both operands as batches of matrices, and the shapes of the answer: as a batch, and as it is asked for."""
    if self.dim() == 0 or other.dim() == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, not {self.dim()}D and {other.dim()}D")
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected both to have the same dtype, but got: {self.dtype} != {other.dtype}")
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(1) if other.dim() == 1 else other
    M, K, N = a.shape[-2], a.shape[-1], b.shape[-1]
    if b.shape[-2] != K:
        raise RuntimeError(f"shapes {self.shape} and {other.shape} cannot be multiplied")
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    shape = batch + (M,) * (self.dim() > 1) + (N,) * (other.dim() > 1)
    items = product(batch)
    if b.dim() == 2:
        rows = a if a.dim() == 2 else a.contiguous().view(items * M, K)
        return rows.unsqueeze(0), b.unsqueeze(0), (1, items * M, N), shape
    return as_batch(a, batch, items), as_batch(b, batch, items), (items, M, N), shape


def as_batch(x, batch, items):
    """x, expanded to a batch, with one batch dimension."""
    x = x.expand(batch + x.shape[-2:])
    return x if x.dim() == 3 else x.contiguous().view(items, x.shape[-2], x.shape[-1])


def matmul(self, other):
    a, b, batch_shape, shape = batched(self, other)
    out = torch.empty(batch_shape, dtype=self.dtype, device=self.device)
    launch(a, b, out)
    return out.view(shape)


def matmul_out(self, other, *, out):
    a, b, batch_shape, shape = batched(self, other)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    if out.is_contiguous():
        launch(a, b, out.view(batch_shape))
    else:
        dense = torch.empty(batch_shape, dtype=self.dtype, device=self.device)
        launch(a, b, dense)
        out.copy_(dense.view(shape))
    return out
