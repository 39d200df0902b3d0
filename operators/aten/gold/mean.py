"""Means over the middle of (outer, n, inner), split along n into partial sums where there are few answers."""

import torch
import triton
import triton.language as tl

MAX_SPLITS = 1024
LEAST = 128
WANTED = 1024
TILE = 2048


def tile(args):
    """Summands and answers in one tile, and whether its answers lie side by side in memory (those of one outer index)."""
    chunk, inner = args["chunk"], args["inner"]
    within = inner > 1 and chunk >= 64
    if within:
        block_j = min(triton.next_power_of_2(inner), 64)
        return min(triton.next_power_of_2(chunk), TILE // block_j), block_j, True
    block_n = min(triton.next_power_of_2(chunk), TILE if inner == 1 else 32)
    return block_n, min(triton.next_power_of_2(args["answers"]), TILE // block_n), False


@triton.heuristics(
    {
        "BLOCK_N": lambda args: tile(args)[0],
        "BLOCK_J": lambda args: tile(args)[1],
        "WITHIN": lambda args: tile(args)[2],
        "ACROSS": lambda args: args["inner"] == 1,
    }
)
@triton.jit
def mean_kernel(
    x_ptr,
    out_ptr,
    answers,
    n,
    inner,
    chunk,
    count,
    BLOCK_J: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WITHIN: tl.constexpr,
    ACROSS: tl.constexpr,
    SUM: tl.constexpr,
):
    """Answer j of split p: the sum of x[j // inner, p * chunk : (p + 1) * chunk, j % inner], divided by `count`."""
    block = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK_N)
    split = tl.program_id(1)
    start = split.to(tl.int64) * chunk
    end = min(start + chunk, n)
    if WITHIN:
        columns = tl.cdiv(inner, BLOCK_J)
        i = block % columns * BLOCK_J + tl.arange(0, BLOCK_J)
        j = block // columns * inner + i
        known = i < inner
        base = block // columns * n * inner + i
    else:
        j = block * BLOCK_J + tl.arange(0, BLOCK_J)
        known = j < answers
        base = (j // inner) * n * inner + j % inner
    if ACROSS:
        total = tl.zeros((BLOCK_J, BLOCK_N), dtype=SUM)
        for step in range(0, chunk, BLOCK_N):
            at = start + step + k
            mask = known[:, None] & (at < end)[None, :]
            total += tl.load(x_ptr + base[:, None] + at[None, :], mask=mask, other=0).to(SUM)
        y = tl.sum(total, axis=1)
    else:
        total = tl.zeros((BLOCK_N, BLOCK_J), dtype=SUM)
        for step in range(0, chunk, BLOCK_N):
            at = start + step + k
            mask = (at < end)[:, None] & known[None, :]
            total += tl.load(x_ptr + base[None, :] + at[:, None] * inner, mask=mask, other=0).to(SUM)
        y = tl.sum(total, axis=0)
    tl.store(out_ptr + split.to(tl.int64) * answers + j, (y / count).to(out_ptr.dtype.element_ty), mask=known)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def blocks(outer, inner, chunk):
    """How many tiles hold all answers."""
    _, block_j, within = tile({"chunk": chunk, "inner": inner, "answers": outer * inner})
    return outer * triton.cdiv(inner, block_j) if within else triton.cdiv(outer * inner, block_j)


def launch(x, outer, n, inner, out, chunk, splits, count):
    answers = outer * inner
    kind = tl.float64 if out.dtype == torch.float64 else tl.float32
    mean_kernel[(blocks(outer, inner, chunk), splits)](x, out, answers, n, inner, chunk, count, SUM=kind, num_warps=4)


def reduce_into(x, dims, out):
    """Write the mean of x over dims to out, which is contiguous and holds one element per answer."""
    kept = [d for d in range(x.dim()) if d not in dims]
    answers, n = product(x.shape[d] for d in kept), product(x.shape[d] for d in dims)
    if answers == 0:
        return
    if n == 0:
        out.fill_(float("nan"))
        return
    if x.is_contiguous() and dims and dims == list(range(dims[0], dims[-1] + 1)):
        outer, inner = product(x.shape[: dims[0]]), product(x.shape[dims[-1] + 1 :])
    else:
        x = x.permute(kept + dims).contiguous()
        outer, inner = answers, 1
    splits = min(MAX_SPLITS, triton.cdiv(n, LEAST), triton.cdiv(WANTED, blocks(outer, inner, n)))
    if splits == 1:
        launch(x, outer, n, inner, out, n, 1, n)
        return
    chunk = triton.cdiv(n, splits)
    splits = triton.cdiv(n, chunk)
    exact = torch.float64 if out.dtype == torch.float64 else torch.float32
    partial = torch.empty((splits, answers), dtype=exact, device=x.device)
    launch(x, outer, n, inner, partial, chunk, splits, 1)
    launch(partial, 1, splits, answers, out, splits, 1, n)


def dimensions(x, dim):
    """The dimensions to be reduced, in ascending order."""
    rank = max(1, x.dim())
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(x.dim()))
    found = []
    for d in [dim] if isinstance(dim, int) else dim:
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
        if d % rank in found:
            raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
        found.append(d % rank)
    return sorted(found) if x.dim() else []


def run(x, dim, keepdim, dtype, out=None):
    given = x.dtype if dtype is None else dtype
    if not given.is_floating_point:
        raise RuntimeError(f"mean(): the input or dtype must be floating point, got {given}")
    dims = dimensions(x, dim)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    if out is None:
        out = torch.empty(shape, dtype=given, device=x.device)
    elif out.dtype != given and dtype is not None:
        raise RuntimeError(f"Expected out tensor to have dtype {given}, but got {out.dtype} instead")
    if list(out.shape) != shape:
        out.resize_(shape)
    x = x.to(out.dtype)
    if out.is_contiguous():
        reduce_into(x, dims, out)
    else:
        dense = torch.empty(shape, dtype=out.dtype, device=x.device)
        reduce_into(x, dims, dense)
        out.copy_(dense)
    return out


def mean(self, *, dtype=None):
    return run(self, None, False, dtype)


def mean_dim(self, dim, keepdim=False, *, dtype=None):
    return run(self, dim, keepdim, dtype)


def mean_out(self, dim, keepdim=False, *, dtype=None, out):
    return run(self, dim, keepdim, dtype, out)


def mean_dtype_out(self, *, dtype=None, out):
    return run(self, None, False, dtype, out)
