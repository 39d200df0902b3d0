"""Stacking: every piece is written to its slice of the answer, in tiles of rows by columns."""

import torch
import triton
import triton.language as tl


def tile(columns):
    """Rows and columns of a tile."""
    width = 1024 if columns > 128 else 128 if columns > 16 else 16
    return 1024 // width, width


@triton.heuristics({"BLOCK_R": lambda args: tile(args["columns"])[0], "BLOCK_C": lambda args: tile(args["columns"])[1]})
@triton.jit
def place_kernel(
    x_ptr,
    out_ptr,
    rows,
    columns,
    n1,
    n2,
    x_0,
    x_1,
    x_2,
    x_3,
    out_0,
    out_1,
    out_2,
    out_3,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """A row has three coordinates of which n1 and n2 are the sizes of the last two; the strides begin with a column's."""
    tiles = tl.cdiv(columns, BLOCK_C)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = (tl.program_id(0) % tiles).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    i1, i2, i3 = r % n1, r // n1 % n2, r // n1 // n2
    x_at = i1 * x_1 + i2 * x_2 + i3 * x_3
    out_at = i1 * out_1 + i2 * out_2 + i3 * out_3
    x = tl.load(x_ptr + x_at[:, None] + (c * x_0)[None, :], mask=mask)
    tl.store(out_ptr + out_at[:, None] + (c * out_0)[None, :], x.to(out_ptr.dtype.element_ty), mask=mask)


def merged(x, out):
    """The fewest dimensions that walk both tensors in the same order, at least four, the last first: (size, strides)."""
    dims = []
    for size, here, there in zip(x.shape, x.stride(), out.stride(), strict=True):
        if size == 1:
            continue
        if dims and dims[0][1] == size * here and dims[0][2] == size * there:
            dims[0] = (dims[0][0] * size, here, there)
        else:
            dims.insert(0, (size, here, there))
    while len(dims) < 4:
        dims.append((1, 0, 0))
    return dims


def place(x, out):
    """Write x to out, a view of the same shape."""
    n = x.numel()
    if n == 0:
        return
    dims = merged(x, out)
    if len(dims) > 4:
        for i in range(x.shape[0]):
            place(x.select(0, i), out.select(0, i))
        return
    columns = dims[0][0]
    rows = n // columns
    block_r, block_c = tile(columns)
    place_kernel[(triton.cdiv(rows, block_r) * triton.cdiv(columns, block_c),)](
        x,
        out,
        rows,
        columns,
        dims[1][0],
        dims[2][0],
        *[here for _, here, _ in dims],
        *[there for _, _, there in dims],
        num_warps=4,
    )


def prepare(tensors, dim):
    """The answer's shape and type, and the new dimension from the front."""
    if len(tensors) == 0:
        raise RuntimeError("stack expects a non-empty list of tensors")
    dtype, shape = tensors[0].dtype, tensors[0].shape
    for x in tensors:
        dtype = torch.promote_types(dtype, x.dtype)
        if x.shape != shape:
            raise RuntimeError(f"stack expects tensors of equal size, but got {list(shape)} and {list(x.shape)}")
    rank = len(shape) + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim = dim % rank
    return [*shape[:dim], len(tensors), *shape[dim:]], dtype, dim


def fill(tensors, dim, out):
    for number, x in enumerate(tensors):
        place(x, out.select(dim, number))


def stack(tensors, dim=0):
    shape, dtype, dim = prepare(tensors, dim)
    out = torch.empty(shape, dtype=dtype, device=tensors[0].device)
    fill(tensors, dim, out)
    return out


def stack_out(tensors, dim=0, *, out):
    shape, dtype, dim = prepare(tensors, dim)
    if not torch.can_cast(dtype, out.dtype):
        raise TypeError(f"{dtype} can't be cast to the desired output type {out.dtype}")
    if list(out.shape) != shape:
        out.resize_(shape)
    fill(tensors, dim, out)
    return out
