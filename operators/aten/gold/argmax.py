"""Positions of maxima over the middle of (outer, n, inner); long slices give one candidate a split, compared in turn."""

import torch
import triton
import triton.language as tl

MAX_SPLITS = 1024
LEAST = 128
WANTED = 1024
TILE = 2048


def tile(args):
    """Elements of a slice and answers in one tile, and whether its answers lie side by side in memory (those of one outer
    index)."""
    chunk, inner = args["chunk"], args["inner"]
    if inner > 1 and chunk >= 64:
        block_j = min(triton.next_power_of_2(inner), 64)
        return min(triton.next_power_of_2(chunk), TILE // block_j), block_j, True
    block_n = min(triton.next_power_of_2(chunk), 1024 if inner == 1 else 32)
    return block_n, min(triton.next_power_of_2(args["answers"]), TILE // block_n), False


@triton.heuristics(
    {
        "BLOCK_N": lambda args: tile(args)[0],
        "BLOCK_J": lambda args: tile(args)[1],
        "WITHIN": lambda args: tile(args)[2],
    }
)
@triton.jit
def argmax_kernel(
    x_ptr,
    candidates_ptr,
    out_ptr,
    answers,
    n,
    inner,
    count,
    chunk,
    BLOCK_J: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WITHIN: tl.constexpr,
    KIND: tl.constexpr,
    GIVEN: tl.constexpr,
):
    """Answer j of split p: where x[j // inner, :, j % inner] is largest among the positions of the split.

    Those are the numbers from p * chunk to (p + 1) * chunk, below `count`; or, if GIVEN, what these rows of
    `candidates` hold.
    """
    block = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK_N)
    split = tl.program_id(1).to(tl.int64)
    start = split * chunk
    end = min(start + chunk, count)
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
    if GIVEN:
        first = tl.load(candidates_ptr + j, mask=known)[:, None]
    else:
        first = tl.full((BLOCK_J, 1), start, dtype=tl.int64)
    first_x = tl.load(x_ptr + base[:, None] + first * inner, mask=known[:, None]).to(KIND)
    best = tl.broadcast_to(first_x, (BLOCK_J, BLOCK_N))
    where = tl.broadcast_to(first, (BLOCK_J, BLOCK_N))
    for step in range(0, chunk, BLOCK_N):
        at = (start + step + k)[None, :]
        mask = known[:, None] & (at < end)
        if GIVEN:
            position = tl.load(candidates_ptr + at * answers + j[:, None], mask=mask, other=first)
        else:
            position = tl.broadcast_to(at, (BLOCK_J, BLOCK_N))
        x = tl.load(x_ptr + base[:, None] + position * inner, mask=mask, other=first_x).to(KIND)
        better = (x > best) | ((x != x) & (best == best))
        best = tl.where(better, x, best)
        where = tl.where(better, position, where)
    nan = tl.max(best != best, axis=1)[:, None] > 0
    top = tl.max(best, axis=1)[:, None]
    hit = tl.where(nan, best != best, best == top)
    y = tl.min(tl.where(hit, where, n), axis=1)
    tl.store(out_ptr + split * answers + j, y, mask=known)


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


def blocks(outer, inner, chunk):
    """How many tiles hold all answers."""
    _, block_j, within = tile({"chunk": chunk, "inner": inner, "answers": outer * inner})
    return outer * triton.cdiv(inner, block_j) if within else triton.cdiv(outer * inner, block_j)


def launch(x, candidates, outer, n, inner, out, count, chunk, splits):
    answers = outer * inner
    grid = (blocks(outer, inner, chunk), splits)
    given = candidates is not None
    argmax_kernel[grid](
        x,
        candidates if given else x,
        out,
        answers,
        n,
        inner,
        count,
        chunk,
        KIND=working(x.dtype),
        GIVEN=given,
        num_warps=4,
    )


def search(x, dim, out):
    """Write where x is largest along dim (None: in all of it) to out, which is contiguous."""
    x = x.contiguous()
    if dim is None or x.dim() == 0:
        outer, n, inner = 1, x.numel(), 1
    else:
        outer, n, inner = product(x.shape[:dim]), x.shape[dim], product(x.shape[dim + 1 :])
    answers = outer * inner
    if answers == 0:
        return
    splits = min(MAX_SPLITS, triton.cdiv(n, LEAST), triton.cdiv(WANTED, blocks(outer, inner, n)))
    if splits == 1:
        launch(x, None, outer, n, inner, out, n, n, 1)
        return
    chunk = triton.cdiv(n, splits)
    splits = triton.cdiv(n, chunk)
    candidates = torch.empty((splits, answers), dtype=torch.int64, device=x.device)
    launch(x, None, outer, n, inner, candidates, n, chunk, splits)
    launch(x, candidates, outer, n, inner, out, splits, splits, 1)


def prepare(x, dim, keepdim):
    """The dimension as a natural number, and the shape of the answer."""
    if x.dtype == torch.bool:
        raise RuntimeError("argmax(): does not support bool input")
    if dim is None:
        if x.numel() == 0:
            raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0.")
        return None, [1] * x.dim() if keepdim else []
    rank = max(1, x.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim = dim % rank
    if x.dim() and x.shape[dim] == 0:
        raise IndexError(f"argmax(): Expected reduction dim {dim} to have non-zero size.")
    return dim, [1 if d == dim else n for d, n in enumerate(x.shape) if keepdim or d != dim]


def argmax(self, dim=None, keepdim=False):
    dim, shape = prepare(self, dim, keepdim)
    out = torch.empty(shape, dtype=torch.int64, device=self.device)
    search(self, dim, out)
    return out


def argmax_out(self, dim=None, keepdim=False, *, out):
    dim, shape = prepare(self, dim, keepdim)
    if out.dtype != torch.int64:
        raise RuntimeError(f"Expected out tensor to have dtype long int, but got {out.dtype} instead")
    if list(out.shape) != shape:
        out.resize_(shape)
    if out.is_contiguous():
        search(self, dim, out)
    else:
        dense = torch.empty(shape, dtype=torch.int64, device=self.device)
        search(self, dim, dense)
        out.copy_(dense)
    return out
