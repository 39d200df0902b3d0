"""Scatter into a copy: one lane an element of the index, or (where values meet) one lane a line along the dimension."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 512
LINES = 128


@triton.jit
def place_kernel(
    index_ptr,
    src_ptr,
    out_ptr,
    value,
    n,
    out_step,
    sizes,
    index_strides,
    src_strides,
    out_strides,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out_step: the stride of out along the dimension of the indices; in out_strides it is zero."""
    program = tl.program_id(0)
    if WIDE:
        program = program.to(tl.int64)
    rest = program * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    index_at = tl.zeros((BLOCK,), tl.int64)
    src_at = tl.zeros((BLOCK,), tl.int64)
    out_at = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(RANK):
        i = (rest % sizes[d]).to(tl.int64)
        index_at += i * index_strides[d]
        src_at += i * src_strides[d]
        out_at += i * out_strides[d]
        rest = rest // sizes[d]
    at = tl.load(index_ptr + index_at)
    if src_ptr is None:
        x = tl.full((BLOCK,), tl.load(value), out_ptr.dtype.element_ty)
    else:
        x = tl.load(src_ptr + src_at)
    tl.store(out_ptr + out_at + at * out_step, x, mask=mask)


@triton.jit
def combine_kernel(
    index_ptr,
    src_ptr,
    out_ptr,
    value,
    lines,
    length,
    index_step,
    src_step,
    out_step,
    sizes,
    index_strides,
    src_strides,
    out_strides,
    RANK: tl.constexpr,
    ADD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Each lane walks one line, so that no two lanes ever meet; the steps are the strides along the line."""
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < lines
    index_at = tl.zeros((BLOCK,), tl.int64)
    src_at = tl.zeros((BLOCK,), tl.int64)
    out_at = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(RANK):
        i = rest % sizes[d]
        index_at += i * index_strides[d]
        src_at += i * src_strides[d]
        out_at += i * out_strides[d]
        rest = rest // sizes[d]
    # Sums and products of two bfloat16 numbers are rounded the same from fp32, which every backend has.
    WORK: tl.constexpr = tl.float32 if out_ptr.dtype.element_ty == tl.bfloat16 else out_ptr.dtype.element_ty
    for _ in range(length):
        target = out_ptr + out_at + tl.load(index_ptr + index_at, mask=mask) * out_step
        old = tl.load(target, mask=mask).to(WORK)
        if src_ptr is None:
            x = tl.load(value)
        else:
            x = tl.load(src_ptr + src_at, mask=mask)
        x = x.to(out_ptr.dtype.element_ty).to(WORK)
        y = old + x if ADD else old * x
        tl.store(target, y.to(out_ptr.dtype.element_ty), mask=mask)
        tl.debug_barrier()
        index_at += index_step
        src_at += src_step


def merged(sizes, *strides):
    """The fewest dimensions, at least one, that walk the same elements of all tensors in the same order; the last first."""
    dims = []
    for d in range(len(sizes)):
        here = [s[d] for s in strides]
        if sizes[d] == 1:
            continue
        if dims and all(outer == sizes[d] * inner for outer, inner in zip(dims[-1][1], here, strict=True)):
            dims[-1] = (dims[-1][0] * sizes[d], here)
        else:
            dims.append((sizes[d], here))
    if not dims:
        dims.append((1, [0 for _ in strides]))
    dims.reverse()
    return tuple(size for size, _ in dims), [tuple(here[k] for _, here in dims) for k in range(len(strides))]


def check(self, dim, index, src, reduce):
    """The dimension from the front."""
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce must be either add or multiply")
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"the index must be int64 or int32, not {index.dtype}")
    dim = dim % rank
    if index.numel() == 0:
        return dim
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError(f"expected src to be {self.dtype}, but it is {src.dtype}")
    if max(1, index.dim()) != rank or (src is not None and max(1, src.dim()) != rank):
        raise RuntimeError("index, src and self must have as many dimensions as one another")
    for d in range(rank if self.dim() and index.dim() else 0):
        if (d != dim and index.shape[d] > self.shape[d]) or (src is not None and index.shape[d] > src.shape[d]):
            raise RuntimeError(f"the index {list(index.shape)} is too large in dimension {d}")
    return dim


def launch(dim, index, src, value, reduce, out):
    n = index.numel()
    if n == 0 or out.numel() == 0:
        return
    index = index if index.dim() else index.view((1,))
    out = out if out.dim() else out.view((1,))
    src = src.view((1,)) if src is not None and src.dim() == 0 else src
    number = None if src is not None else torch.full((1,), value, dtype=out.dtype, device=out.device)
    src_strides = index.stride() if src is None else src.stride()
    if reduce is None:
        across = tuple(0 if d == dim else s for d, s in enumerate(out.stride()))
        sizes, strides = merged(index.shape, index.stride(), src_strides, across)
        place_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            index,
            src,
            out,
            number,
            n,
            out.stride(dim),
            sizes,
            *strides,
            RANK=len(sizes),
            WIDE=n >= 2**31 - BLOCK_SIZE,
            BLOCK=BLOCK_SIZE,
        )
        return
    length, lines = index.shape[dim], n // index.shape[dim]
    shape = (*index.shape[:dim], *index.shape[dim + 1 :])
    others = [(*s[:dim], *s[dim + 1 :]) for s in (index.stride(), src_strides, out.stride())]
    sizes, strides = merged(shape, *others)
    combine_kernel[(triton.cdiv(lines, LINES),)](
        index,
        src,
        out,
        number,
        lines,
        length,
        index.stride(dim),
        src_strides[dim],
        out.stride(dim),
        sizes,
        *strides,
        RANK=len(sizes),
        ADD=reduce == "add",
        BLOCK=LINES,
        num_warps=4,
    )


def run(self, dim, index, src=None, value=None, reduce=None, out=None):
    dim = check(self, dim, index, src, reduce)
    if out is None:
        out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    elif out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    elif out.shape != self.shape:
        out.resize_(self.shape)
    half = self.dtype in (torch.float16, torch.bfloat16)
    work = torch.empty(self.shape, dtype=torch.float32, device=self.device) if half and reduce is not None else out
    work.copy_(self)
    launch(dim, index, src, value, reduce, work)
    if work is not out:
        out.copy_(work)
    return out


def scatter_src(self, dim, index, src):
    return run(self, dim, index, src=src)


def scatter_value(self, dim, index, value):
    return run(self, dim, index, value=value)


def scatter_reduce(self, dim, index, src, *, reduce):
    return run(self, dim, index, src=src, reduce=reduce)


def scatter_value_reduce(self, dim, index, value, *, reduce):
    return run(self, dim, index, value=value, reduce=reduce)


def scatter_src_out(self, dim, index, src, *, out):
    return run(self, dim, index, src=src, out=out)


def scatter_value_out(self, dim, index, value, *, out):
    return run(self, dim, index, value=value, out=out)


def scatter_reduce_out(self, dim, index, src, *, reduce, out):
    return run(self, dim, index, src=src, reduce=reduce, out=out)


def scatter_value_reduce_out(self, dim, index, value, *, reduce, out):
    return run(self, dim, index, value=value, reduce=reduce, out=out)
