"""Matrix product in tiles with fp32 (or fp64) sums; strides of all three matrices are taken as they are."""

import torch
import triton
import triton.language as tl

DOUBLE_TILE = 32


@triton.jit
def product_tile(
    a_ptr,
    b_ptr,
    c_ptr,
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
    GROUP: tl.constexpr,
    SUM: tl.constexpr,
):
    """One tile of the answer. Tiles go in groups of GROUP rows, so that neighbours share their columns in cache."""
    program = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = program // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    i = first + program % (GROUP * columns) % height
    j = program % (GROUP * columns) // height
    m = (i * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (j * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
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
    c_tile = c_ptr + m[:, None] * c_row + n[None, :] * c_column
    tl.store(c_tile, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4),
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 128}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def mm_half_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
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
):
    product_tile(
        a_ptr,
        b_ptr,
        c_ptr,
        M,
        N,
        K,
        a_row,
        a_column,
        b_row,
        b_column,
        c_row,
        c_column,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        8,
        tl.float32,
    )


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 16}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 16}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def mm_single_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
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
):
    """Products without tensor cores, which have no fp32: short tiles along K, since their loops are unrolled."""
    product_tile(
        a_ptr,
        b_ptr,
        c_ptr,
        M,
        N,
        K,
        a_row,
        a_column,
        b_row,
        b_column,
        c_row,
        c_column,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        8,
        tl.float32,
    )


@triton.jit
def mm_double_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_row,
    a_column,
    b_row,
    b_column,
    c_row,
    c_column,
    TILE: tl.constexpr,
):
    product_tile(
        a_ptr,
        b_ptr,
        c_ptr,
        M,
        N,
        K,
        a_row,
        a_column,
        b_row,
        b_column,
        c_row,
        c_column,
        TILE,
        TILE,
        TILE,
        8,
        tl.float64,
    )


def check(self, mat2):
    if self.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError("self and mat2 must be matrices")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({self.shape} and {mat2.shape})")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {self.dtype} != {mat2.dtype}")


def launch(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    if c.numel() == 0:
        return
    arguments = (a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    if c.dtype == torch.float64:
        mm_double_kernel[(triton.cdiv(M, DOUBLE_TILE) * triton.cdiv(N, DOUBLE_TILE),)](*arguments, TILE=DOUBLE_TILE)
    else:
        kernel = mm_single_kernel if c.dtype == torch.float32 else mm_half_kernel
        kernel[lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)](*arguments)


def mm(self, mat2):
    check(self, mat2)
    out = torch.empty((self.shape[0], mat2.shape[1]), dtype=self.dtype, device=self.device)
    launch(self, mat2, out)
    return out


def mm_out(self, mat2, *, out):
    check(self, mat2)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    shape = (self.shape[0], mat2.shape[1])
    if out.shape != shape:
        out.resize_(shape)
    launch(self, mat2, out)
    return out
