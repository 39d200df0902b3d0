"""Indexing in two steps: every index tensor adds to a list of offsets, from which slices are then fetched.

Masks become lists of offsets first: true elements are counted by block, then each writes its own at its rank.
"""

import torch
import triton
import triton.language as tl

MASK_BLOCK = 512
INDEX_BLOCK = 512


@triton.jit
def count_kernel(mask_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    true = tl.load(mask_ptr + k, mask=k < n, other=0).to(tl.int32)
    tl.store(counts_ptr + tl.program_id(0), tl.sum(true))


@triton.jit
def compact_kernel(
    mask_ptr,
    counts_ptr,
    offsets_ptr,
    total_ptr,
    n,
    n0,
    n1,
    s0,
    s1,
    s2,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """The r-th true element writes its offset to place r. Its coordinates have sizes n0, n1 from the last; s: strides."""
    program = tl.program_id(0)
    earlier = tl.arange(0, BLOCKS)
    before = tl.sum(tl.load(counts_ptr + earlier, mask=earlier < program, other=0))
    k = program * BLOCK + tl.arange(0, BLOCK)
    true = tl.load(mask_ptr + k, mask=k < n, other=0).to(tl.int32)
    rank = before + tl.cumsum(true) - true
    k = k.to(tl.int64)
    offset = k % n0 * s0 + k // n0 % n1 * s1 + k // n0 // n1 * s2
    tl.store(offsets_ptr + rank, offset, mask=true != 0)
    if program == tl.num_programs(0) - 1:
        tl.store(total_ptr, (before + tl.sum(true)).to(tl.int64))


@triton.jit
def add_offsets_kernel(index_ptr, offsets_ptr, n, size, stride, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = k < n
    i = tl.load(index_ptr + k, mask=mask).to(tl.int64)
    offset = tl.where(i < 0, i + size, i) * stride
    if not FIRST:
        offset += tl.load(offsets_ptr + k, mask=mask)
    tl.store(offsets_ptr + k, offset, mask=mask)


@triton.jit
def fetch_kernel(
    x_ptr,
    offsets_ptr,
    out_ptr,
    rows,
    columns,
    row_step,
    n0,
    n1,
    x_0,
    x_1,
    x_2,
    out_0,
    out_1,
    out_2,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Row r is fetched from offset r. Columns have three coordinates, of sizes n0, n1 from the last."""
    tiles = tl.cdiv(columns, BLOCK_C)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = (tl.program_id(0) % tiles).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    start = tl.load(offsets_ptr + r, mask=r < rows)
    i0, i1, i2 = c % n0, c // n0 % n1, c // n0 // n1
    x_at = i0 * x_0 + i1 * x_1 + i2 * x_2
    out_at = i0 * out_0 + i1 * out_1 + i2 * out_2
    x = tl.load(x_ptr + start[:, None] + x_at[None, :], mask=mask)
    tl.store(out_ptr + (r * row_step)[:, None] + out_at[None, :], x, mask=mask)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def tile(columns):
    width = 1024 if columns > 128 else 128 if columns > 16 else 16 if columns > 1 else 1
    return 512 // min(width, 512), width


def merged(sizes, *strides):
    """The fewest dimensions, at least three, that walk all tensors in the same order, the last first."""
    dims = []
    for d in range(len(sizes)):
        here = [s[d] for s in strides]
        if sizes[d] == 1:
            continue
        if dims and all(outer == sizes[d] * inner for outer, inner in zip(dims[0][1], here, strict=True)):
            dims[0] = (dims[0][0] * sizes[d], here)
        else:
            dims.insert(0, (sizes[d], here))
    while len(dims) < 3:
        dims.append((1, [0 for _ in strides]))
    return [size for size, _ in dims], [[here[k] for _, here in dims] for k in range(len(strides))]


def broadcast(shapes):
    rank = max(len(s) for s in shapes)
    out = [1 for _ in range(rank)]
    for shape in shapes:
        for back in range(1, len(shape) + 1):
            if out[-back] == 1:
                out[-back] = shape[-back]
            elif shape[-back] != 1 and shape[-back] != out[-back]:
                raise IndexError("shape mismatch: indexing tensors could not be broadcast together")
    return out


def positions(self, indices):
    """(index, first dimension, number of dimensions) of every entry that is not None."""
    if len(indices) == 0:
        raise IndexError("at least one index must be provided")
    found, dim = [], 0
    for index in indices:
        taken = 1
        if index is not None:
            if index.dtype not in (torch.bool, torch.int32, torch.int64):
                raise IndexError("tensors used as indices must be int32, int64 or bool tensors")
            taken = index.dim() if index.dtype == torch.bool else 1
            found.append((index, dim, taken))
        dim = dim + taken
    if dim > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {dim})")
    for index, dim, taken in found:
        if index.dtype == torch.bool and index.shape != self.shape[dim : dim + taken]:
            raise IndexError("the shape of the mask does not match the shape of the indexed tensor")
    return found


def compact(mask, strides):
    """Offsets of the mask's true elements, in a buffer that would hold all of them, and their number in memory."""
    n = mask.numel()
    offsets = torch.empty((n,), dtype=torch.int64, device=mask.device)
    total = torch.empty((1,), dtype=torch.int64, device=mask.device)
    blocks = triton.cdiv(n, MASK_BLOCK)
    if n == 0:
        return offsets, total.zero_()
    counts = torch.empty((blocks,), dtype=torch.int32, device=mask.device)
    sizes, (steps,) = merged(mask.shape, strides)
    mask = mask.contiguous()
    count_kernel[(blocks,)](mask, counts, n, BLOCK=MASK_BLOCK, num_warps=4)
    compact_kernel[(blocks,)](
        mask,
        counts,
        offsets,
        total,
        n,
        *sizes[:2],
        *steps,
        BLOCK=MASK_BLOCK,
        BLOCKS=triton.next_power_of_2(blocks),
        num_warps=4,
    )
    return offsets, total


def sum_of_offsets(parts, shape, device):
    """One offset for every element of shape from (index, size, stride) of every part."""
    n = product(shape)
    offsets = torch.empty((n,), dtype=torch.int64, device=device)
    for number, (index, size, stride) in enumerate(parts):
        add_offsets_kernel[(triton.cdiv(n, INDEX_BLOCK),)](
            index.expand(shape).contiguous(),
            offsets,
            n,
            size,
            stride,
            FIRST=number == 0,
            BLOCK=INDEX_BLOCK,
            num_warps=4,
        )
    return offsets


def fetch(self, indices, prepare_out):
    found = positions(self, indices)
    dims = [d for _, dim, taken in found for d in range(dim, dim + taken)]
    rest = [d for d in range(self.dim()) if d not in dims]
    x = self
    if len(rest) > 3 or any(taken > 3 for *_, taken in found):
        x = x.contiguous()
    parts = []
    for index, dim, taken in found:
        if index.dtype == torch.bool:
            offsets, total = compact(index, x.stride()[dim : dim + taken])
            parts.append((offsets.narrow(0, 0, total.item()), 0, 1))
        else:
            parts.append((index, x.shape[dim], x.stride(dim)))
    shape = broadcast([index.shape for index, _, _ in parts])
    side_by_side = dims == list(range(dims[0], dims[-1] + 1))
    ahead = dims[0] if side_by_side else 0
    others = [x.shape[d] for d in rest]
    out = prepare_out([*others[:ahead], *shape, *others[ahead:]])
    if out.numel() == 0:
        return out
    offsets = sum_of_offsets(parts, shape, x.device)
    strides = [*out.stride()[:ahead], *out.stride()[ahead + len(shape) :]]
    sizes, (x_steps, out_steps) = merged(others, [x.stride(d) for d in rest], strides)
    rows, columns = product(shape), product(others)
    block_r, block_c = tile(columns)
    fetch_kernel[(triton.cdiv(rows, block_r) * triton.cdiv(columns, block_c),)](
        x,
        offsets,
        out,
        rows,
        columns,
        product(others[ahead:]),
        *sizes[:2],
        *x_steps,
        *out_steps,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
        num_warps=4,
    )
    return out


def index_Tensor(self, indices):
    return fetch(self, indices, lambda shape: torch.empty(shape, dtype=self.dtype, device=self.device))


def index_Tensor_out(self, indices, *, out):
    if out.dtype != self.dtype:
        raise RuntimeError(f"self ({self.dtype}) and result ({out.dtype}) must have the same dtype")

    def dense(shape):
        if list(out.shape) != shape:
            out.resize_(shape)
        return out if out.is_contiguous() else torch.empty(shape, dtype=out.dtype, device=out.device)

    answer = fetch(self, indices, dense)
    if answer is not out:
        out.copy_(answer)
    return out
