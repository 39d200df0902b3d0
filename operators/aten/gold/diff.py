"""Differences, one order a launch, in tiles of (outer) rows by (n - 1) * inner columns."""

import torch
import triton
import triton.language as tl


def tile(columns):
    width = 1024 if columns > 128 else 128 if columns > 16 else 16
    return 1024 // width, width


@triton.heuristics({"BLOCK_R": lambda args: tile(args["columns"])[0], "BLOCK_C": lambda args: tile(args["columns"])[1]})
@triton.jit
def difference_kernel(x_ptr, out_ptr, rows, columns, inner, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """A row of x has one more stretch of inner elements than a row of out."""
    tiles = tl.cdiv(columns, BLOCK_C)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = (tl.program_id(0) % tiles).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x_at = r[:, None] * (columns + inner) + c[None, :]
    low = tl.load(x_ptr + x_at, mask=mask)
    high = tl.load(x_ptr + x_at + inner, mask=mask)
    if low.dtype == tl.int1:
        y = high != low
    elif low.dtype == tl.float16 or low.dtype == tl.bfloat16:
        y = high.to(tl.float32) - low.to(tl.float32)
    else:
        y = high - low
    tl.store(out_ptr + r[:, None] * columns + c[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def prepare(self, n, dim, prepend, append):
    """self joined with what stands before and behind it, contiguous, and the dimension from the front."""
    rank = self.dim()
    if rank == 0:
        raise RuntimeError("diff expects a tensor of at least one dimension")
    if n < 0:
        raise RuntimeError(f"the order must not be negative, but is {n}")
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim = dim % rank
    parts = [x for x in (prepend, self, append) if x is not None]
    dtype, shape = self.dtype, list(self.shape)
    shape[dim] = 0
    for x in parts:
        if x.dim() != rank or any(d != dim and x.shape[d] != shape[d] for d in range(rank)):
            raise RuntimeError("what is joined must match the input except along the dimension")
        shape[dim] = shape[dim] + x.shape[dim]
        dtype = torch.promote_types(dtype, x.dtype)
    if len(parts) == 1:
        return self.contiguous(), dim
    joined = torch.empty(shape, dtype=dtype, device=self.device)
    start = 0
    for x in parts:
        joined.narrow(dim, start, x.shape[dim]).copy_(x)
        start = start + x.shape[dim]
    return joined, dim


def launch(x, n, dim, out):
    """Write the n-th differences of x to out; both are contiguous."""
    if out.numel() == 0:
        return
    if n == 0:
        out.copy_(x)
        return
    rows, inner = product(x.shape[:dim]), product(x.shape[dim + 1 :])
    half = x.dtype in (torch.float16, torch.bfloat16)
    shape = list(x.shape)
    for step in range(n):
        shape[dim] = shape[dim] - 1
        last = step == n - 1
        y = out if last else torch.empty(shape, dtype=torch.float32 if half else x.dtype, device=x.device)
        columns = shape[dim] * inner
        block_r, block_c = tile(columns)
        programs = triton.cdiv(rows, block_r) * triton.cdiv(columns, block_c)
        difference_kernel[(programs,)](x, y, rows, columns, inner, num_warps=4)
        x = y


def answer_shape(x, n, dim):
    return [*x.shape[:dim], max(0, x.shape[dim] - n), *x.shape[dim + 1 :]]


def diff(self, n=1, dim=-1, prepend=None, append=None):
    x, dim = prepare(self, n, dim, prepend, append)
    out = torch.empty(answer_shape(x, n, dim), dtype=x.dtype, device=x.device)
    launch(x, n, dim, out)
    return out


def diff_out(self, n=1, dim=-1, prepend=None, append=None, *, out):
    x, dim = prepare(self, n, dim, prepend, append)
    if not torch.can_cast(x.dtype, out.dtype):
        raise RuntimeError(f"result type {x.dtype} can't be cast to the desired output type {out.dtype}")
    shape = answer_shape(x, n, dim)
    if list(out.shape) != shape:
        out.resize_(shape)
    if out.is_contiguous():
        launch(x, n, dim, out)
    else:
        dense = torch.empty(shape, dtype=x.dtype, device=x.device)
        launch(x, n, dim, dense)
        out.copy_(dense)
    return out
