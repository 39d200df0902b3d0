"""Softmax over the middle of (outer, n, inner): a tile of whole slices, or two passes over longer ones."""

import torch
import triton
import triton.language as tl


def tile_sizes(n, slices):
    """Elements of a slice in one tile, and slices in one tile: at most 4096 elements together."""
    block_n = min(triton.next_power_of_2(n), 2048)
    return block_n, max(1, min(4096 // block_n, triton.next_power_of_2(slices)))


@triton.heuristics(
    {
        "BLOCK_N": lambda args: tile_sizes(args["n"], args["slices"])[0],
        "BLOCK_S": lambda args: tile_sizes(args["n"], args["slices"])[1],
        "ONE_TILE": lambda args: args["n"] <= 2048,
    }
)
@triton.jit
def softmax_kernel(
    x_ptr,
    out_ptr,
    slices,
    n,
    inner,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,
    ONE_TILE: tl.constexpr,
):
    s = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    k = tl.arange(0, BLOCK_N)
    base = (s // inner) * n * inner + s % inner
    inside = s < slices
    double: tl.constexpr = x_ptr.dtype.element_ty == tl.float64
    if ONE_TILE:
        offsets = base[:, None] + k[None, :] * inner
        mask = inside[:, None] & (k < n)[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf"))
        x = x if double else x.to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=1)[:, None])
        y = e / tl.sum(e, axis=1)[:, None]
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)
    else:
        kind: tl.constexpr = tl.float64 if double else tl.float32
        top = tl.full((BLOCK_S,), float("-inf"), kind)
        total = tl.zeros((BLOCK_S,), kind)
        for start in range(0, n, BLOCK_N):
            offsets = base[:, None] + (start + k)[None, :].to(tl.int64) * inner
            mask = inside[:, None] & (start + k < n)[None, :]
            x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(kind)
            here = tl.max(x, axis=1)
            new = tl.where(here > top, here, top)
            finite = tl.where(new == float("-inf"), 0.0, new)
            total = total * tl.exp(top - finite) + tl.sum(tl.exp(x - finite[:, None]), axis=1)
            top = new
        for start in range(0, n, BLOCK_N):
            offsets = base[:, None] + (start + k)[None, :].to(tl.int64) * inner
            mask = inside[:, None] & (start + k < n)[None, :]
            x = tl.load(x_ptr + offsets, mask=mask, other=float("-inf")).to(kind)
            y = tl.exp(x - top[:, None]) / total[:, None]
            tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, dim, out):
    """Write softmax(x) along dim to out; both are contiguous."""
    if out.numel() == 0:
        return
    n, inner = (x.shape[dim], 1) if x.dim() else (1, 1)
    for size in x.shape[dim + 1 :]:
        inner = inner * size
    slices = x.numel() // n
    grid = (triton.cdiv(slices, tile_sizes(n, slices)[1]),)
    softmax_kernel[grid](x, out, slices, n, inner, num_warps=8)


def prepare(self, dim, half_to_float):
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if half_to_float and self.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("conversion is supported for 16-bit types only")
    return self.contiguous(), dim % rank, torch.float32 if half_to_float else self.dtype


def _softmax(self, dim, half_to_float):
    x, dim, dtype = prepare(self, dim, half_to_float)
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    launch(x, dim, out)
    return out


def _softmax_out(self, dim, half_to_float, *, out):
    x, dim, dtype = prepare(self, dim, half_to_float)
    if out.dtype != dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {dtype}, but got {out.dtype} instead")
    if out.shape != x.shape:
        out.resize_(x.shape)
    if out.is_contiguous():
        launch(x, dim, out)
    else:
        dense = torch.empty(x.shape, dtype=dtype, device=x.device)
        launch(x, dim, dense)
        out.copy_(dense)
    return out
