"""Minima over the middle of (outer, n, inner), split along n into partial minima where there are few answers."""

import torch
import triton
import triton.language as tl

MAX_SPLITS = 512
CHUNK = 4096


def tile_sizes(args):
    """Elements of a slice in one tile, and answers in one tile: at most 2048 elements together."""
    block_n = min(triton.next_power_of_2(args["chunk"]), 1024 if args["inner"] == 1 else 32)
    return block_n, min(triton.next_power_of_2(args["answers"]), max(1, 2048 // block_n))


@triton.heuristics({"BLOCK_N": lambda args: tile_sizes(args)[0], "BLOCK_J": lambda args: tile_sizes(args)[1]})
@triton.jit
def amin_kernel(
    x_ptr,
    out_ptr,
    answers,
    n,
    inner,
    chunk,
    BLOCK_J: tl.constexpr,
    BLOCK_N: tl.constexpr,
    KIND: tl.constexpr,
):
    """Answer j of split p: the least of x[j // inner, p * chunk : (p + 1) * chunk, j % inner], NaN if one is NaN."""
    j = tl.program_id(0).to(tl.int64) * BLOCK_J + tl.arange(0, BLOCK_J)
    k = tl.arange(0, BLOCK_N)
    split = tl.program_id(1).to(tl.int64)
    start = split * chunk
    end = min(start + chunk, n)
    base = (j // inner) * n * inner + j % inner
    first = tl.load(x_ptr + base + start * inner, mask=j < answers).to(KIND)[:, None]
    low = tl.broadcast_to(first, (BLOCK_J, BLOCK_N))
    for step in range(0, chunk, BLOCK_N):
        at = start + step + k
        mask = (j < answers)[:, None] & (at < end)[None, :]
        x = tl.load(x_ptr + base[:, None] + at[None, :] * inner, mask=mask, other=first).to(KIND)
        low = tl.where((x < low) | (x != x), x, low)
    y = tl.min(low, axis=1)
    nan = tl.max(low != low, axis=1) > 0
    y = tl.where(nan, tl.sum(low, axis=1), y)
    tl.store(out_ptr + split * answers + j, y.to(out_ptr.dtype.element_ty), mask=j < answers)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def working(dtype):
    """The type in which elements are compared: it holds all of theirs."""
    if dtype in (torch.float64, torch.int64):
        return tl.float64 if dtype == torch.float64 else tl.int64
    return tl.float32 if dtype.is_floating_point else tl.int32


def launch(x, outer, n, inner, out, chunk, splits):
    answers = outer * inner
    block_j = tile_sizes({"chunk": chunk, "inner": inner, "answers": answers})[1]
    grid = (triton.cdiv(answers, block_j), splits)
    amin_kernel[grid](x, out, answers, n, inner, chunk, KIND=working(x.dtype), num_warps=4)


def reduce_into(x, dims, out):
    """Write the minima of x over dims to out, which is contiguous and holds one element per answer."""
    kept = [d for d in range(x.dim()) if d not in dims]
    answers, n = product(x.shape[d] for d in kept), product(x.shape[d] for d in dims)
    if answers == 0:
        return
    if x.is_contiguous() and dims and dims == list(range(dims[0], dims[-1] + 1)):
        outer, inner = product(x.shape[: dims[0]]), product(x.shape[dims[-1] + 1 :])
    else:
        x = x.permute(kept + dims).contiguous()
        outer, inner = answers, 1
    splits = min(MAX_SPLITS, triton.cdiv(n, CHUNK)) if answers < 8192 else 1
    if splits == 1:
        launch(x, outer, n, inner, out, n, 1)
        return
    chunk = triton.cdiv(n, splits)
    splits = triton.cdiv(n, chunk)
    partial = torch.empty((splits, answers), dtype=x.dtype, device=x.device)
    launch(x, outer, n, inner, partial, chunk, splits)
    launch(partial, 1, splits, answers, out, splits, 1)


def dimensions(x, dim):
    """The dimensions to be reduced, in ascending order."""
    rank = max(1, x.dim())
    found = []
    for d in [dim] if isinstance(dim, int) else dim:
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
        if d % rank in found:
            raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
        found.append(d % rank)
    if not found:
        if x.numel() == 0:
            raise RuntimeError("a tensor without elements needs dimensions to be reduced")
        return list(range(x.dim()))
    for d in found:
        if x.dim() and x.shape[d] == 0:
            raise IndexError(f"amin(): Expected reduction dim {d} to have non-zero size.")
    return sorted(found) if x.dim() else []


def answer_shape(x, dims, keepdim):
    return [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]


def amin(self, dim=(), keepdim=False):
    dims = dimensions(self, dim)
    out = torch.empty(answer_shape(self, dims, keepdim), dtype=self.dtype, device=self.device)
    reduce_into(self, dims, out)
    return out


def amin_out(self, dim=(), keepdim=False, *, out):
    dims = dimensions(self, dim)
    shape = answer_shape(self, dims, keepdim)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected the dtype for input and out to match, but got {self.dtype} and {out.dtype}")
    if list(out.shape) != shape:
        out.resize_(shape)
    if out.is_contiguous():
        reduce_into(self, dims, out)
    else:
        dense = torch.empty(shape, dtype=self.dtype, device=self.device)
        reduce_into(self, dims, dense)
        out.copy_(dense)
    return out
