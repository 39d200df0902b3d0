"""Gather: one lane an element of the answer, its coordinates by division; all strides are taken as they are."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def gather_kernel(
    x_ptr,
    index_ptr,
    out_ptr,
    n,
    x_step,
    sizes,
    x_strides,
    index_strides,
    out_strides,
    RANK: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """x_step: the stride of x along the dimension of the indices; in x_strides it is zero. Sizes and strides are listed
    from the last dimension."""
    program = tl.program_id(0)
    if WIDE:
        program = program.to(tl.int64)
    rest = program * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    x_at = tl.zeros((BLOCK,), tl.int64)
    index_at = tl.zeros((BLOCK,), tl.int64)
    out_at = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(RANK - 1):
        i = (rest % sizes[d]).to(tl.int64)
        x_at += i * x_strides[d]
        index_at += i * index_strides[d]
        out_at += i * out_strides[d]
        rest = rest // sizes[d]
    rest = rest.to(tl.int64)
    x_at += rest * x_strides[RANK - 1]
    index_at += rest * index_strides[RANK - 1]
    out_at += rest * out_strides[RANK - 1]
    at = tl.load(index_ptr + index_at, mask=mask)
    x = tl.load(x_ptr + x_at + at * x_step, mask=mask)
    tl.store(out_ptr + out_at, x, mask=mask)


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


def prepare(self, dim, index):
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"the index must be int64 or int32, not {index.dtype}")
    dim = dim % rank
    if index.numel() == 0:
        return dim
    if max(1, index.dim()) != rank:
        raise RuntimeError("the index must have as many dimensions as the input")
    for d in range(rank if self.dim() and index.dim() else 0):
        if d != dim and index.shape[d] > self.shape[d]:
            raise RuntimeError(f"the index {list(index.shape)} is larger than the input {list(self.shape)} in {d}")
    return dim


def launch(x, dim, index, out):
    n = out.numel()
    if n == 0:
        return
    x = x if x.dim() else x.view((1,))
    index = index if index.dim() else index.view((1,))
    out = out if out.dim() else out.view((1,))
    across = tuple(0 if d == dim else s for d, s in enumerate(x.stride()))
    sizes, strides = merged(out.shape, across, index.stride(), out.stride())
    gather_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        x,
        index,
        out,
        n,
        x.stride(dim),
        sizes,
        *strides,
        RANK=len(sizes),
        WIDE=n >= 2**31 - BLOCK_SIZE,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )


def gather(self, dim, index, *, sparse_grad=False):
    dim = prepare(self, dim, index)
    out = torch.empty(index.shape, dtype=self.dtype, device=self.device)
    launch(self, dim, index, out)
    return out


def gather_out(self, dim, index, *, sparse_grad=False, out):
    dim = prepare(self, dim, index)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != index.shape:
        out.resize_(index.shape)
    launch(self, dim, index, out)
    return out
