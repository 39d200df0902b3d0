"""Running sums over the middle of (outer, n, inner), tile by tile; long slices are split and start at what precedes."""

import torch
import triton
import triton.language as tl

CHUNK = 4096
MAX_SPLITS = 256


@triton.jit
def sums_kernel(
    x_ptr,
    partial_ptr,
    slices,
    n,
    inner,
    chunk,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    KIND: tl.constexpr,
):
    """The sum of every split of every slice."""
    s = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    split = tl.program_id(1).to(tl.int64)
    end = min(split * chunk + chunk, n)
    base = (s // inner) * n * inner + s % inner
    total = tl.zeros((BLOCK_S, BLOCK_N), dtype=KIND)
    for step in range(0, chunk, BLOCK_N):
        k = split * chunk + step + tl.arange(0, BLOCK_N)
        mask = (s < slices)[:, None] & (k < end)[None, :]
        total += tl.load(x_ptr + base[:, None] + k[None, :] * inner, mask=mask, other=0)
    tl.store(partial_ptr + split * slices + s, tl.sum(total, axis=1), mask=s < slices)


@triton.jit
def scan_kernel(
    x_ptr,
    partial_ptr,
    out_ptr,
    slices,
    n,
    inner,
    chunk,
    BLOCK_S: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
    KIND: tl.constexpr,
):
    """Running sums of one split of BLOCK_S slices; BLOCK_P holds all splits, 1 if there is one alone."""
    s = tl.program_id(0).to(tl.int64) * BLOCK_S + tl.arange(0, BLOCK_S)
    split = tl.program_id(1).to(tl.int64)
    end = min(split * chunk + chunk, n)
    base = (s // inner) * n * inner + s % inner
    carry = tl.zeros((BLOCK_S,), dtype=KIND)
    if BLOCK_P > 1:
        p = tl.arange(0, BLOCK_P)
        earlier = (s < slices)[:, None] & (p < split)[None, :]
        carry += tl.sum(tl.load(partial_ptr + p[None, :] * slices + s[:, None], mask=earlier, other=0), axis=1)
    for step in range(0, chunk, BLOCK_N):
        k = split * chunk + step + tl.arange(0, BLOCK_N)
        mask = (s < slices)[:, None] & (k < end)[None, :]
        offsets = base[:, None] + k[None, :] * inner
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(KIND)
        y = carry[:, None] + tl.cumsum(x, axis=1)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)
        # The last column; `carry += tl.sum(x, axis=1)` makes Triton 3.6 stumble over some tile shapes.
        carry = tl.sum(tl.where((tl.arange(0, BLOCK_N) == BLOCK_N - 1)[None, :], y, 0), axis=1)


def launch(x, dim, out):
    """Write the running sums of x along dim to out; both are contiguous."""
    if out.numel() == 0:
        return
    n, inner = (x.shape[dim], 1) if x.dim() else (1, 1)
    for size in x.shape[dim + 1 :]:
        inner = inner * size
    slices = x.numel() // n
    if out.dtype.is_floating_point:
        exact = torch.float64 if out.dtype == torch.float64 else torch.float32
    else:
        exact = torch.int64
    kind = {torch.float64: tl.float64, torch.float32: tl.float32, torch.int64: tl.int64}[exact]
    splits = min(MAX_SPLITS, triton.cdiv(n, CHUNK)) if slices < 1024 else 1
    chunk = triton.cdiv(n, splits)
    splits = triton.cdiv(n, chunk)
    block_n = min(triton.next_power_of_2(chunk), 1024)
    block_s = max(1, min(2048 // block_n, triton.next_power_of_2(slices), 64))
    grid = (triton.cdiv(slices, block_s), splits)
    sizes = (slices, n, inner, chunk)
    partial = out
    if splits > 1:
        partial = torch.empty((splits, slices), dtype=exact, device=x.device)
        sums_kernel[grid](x, partial, *sizes, BLOCK_S=block_s, BLOCK_N=block_n, KIND=kind, num_warps=4)
    scan_kernel[grid](
        x,
        partial,
        out,
        *sizes,
        BLOCK_S=block_s,
        BLOCK_N=block_n,
        BLOCK_P=triton.next_power_of_2(splits),
        KIND=kind,
        num_warps=4,
    )


def prepare(self, dim, dtype):
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return self.to(dtype).contiguous(), dim % rank


def cumsum(self, dim, *, dtype=None):
    if dtype is None:
        dtype = self.dtype if self.dtype.is_floating_point else torch.int64
    x, dim = prepare(self, dim, dtype)
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    launch(x, dim, out)
    return out


def cumsum_out(self, dim, *, dtype=None, out):
    if dtype is not None and out.dtype != dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {dtype}, but got {out.dtype} instead")
    x, dim = prepare(self, dim, out.dtype)
    if out.shape != x.shape:
        out.resize_(x.shape)
    if out.is_contiguous():
        launch(x, dim, out)
    else:
        dense = torch.empty(x.shape, dtype=out.dtype, device=x.device)
        launch(x, dim, dense)
        out.copy_(dense)
    return out
