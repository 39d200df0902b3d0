"""Rotation: a copy in tiles, read along reversed and exchanged strides."""

import torch
import triton
import triton.language as tl


def tile(columns):
    """Rows and columns of a tile: nearly square, as one of both tensors may be walked across its rows."""
    width = 32 if columns > 16 else 16
    return 1024 // width, width


@triton.heuristics({"BLOCK_R": lambda args: tile(args["columns"])[0], "BLOCK_C": lambda args: tile(args["columns"])[1]})
@triton.jit
def place_kernel(
    x_ptr,
    out_ptr,
    start,
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
    x_at = start + i1 * x_1 + i2 * x_2 + i3 * x_3
    out_at = i1 * out_1 + i2 * out_2 + i3 * out_3
    x = tl.load(x_ptr + x_at[:, None] + (c * x_0)[None, :], mask=mask)
    tl.store(out_ptr + out_at[:, None] + (c * out_0)[None, :], x, mask=mask)


def merged(sizes, strides, out_strides):
    """The fewest dimensions that walk both tensors in the same order, at least four, the last first: (size, strides)."""
    dims = []
    for size, here, there in zip(sizes, strides, out_strides, strict=True):
        if size == 1:
            continue
        if dims and dims[0][1] == size * here and dims[0][2] == size * there:
            dims[0] = (dims[0][0] * size, here, there)
        else:
            dims.insert(0, (size, here, there))
    while len(dims) < 4:
        dims.append((1, 0, 0))
    return dims


def walk(x, start, strides, out):
    """Write to out what lies in x from start on along strides."""
    n = out.numel()
    if n == 0:
        return
    dims = merged(out.shape, strides, out.stride())
    if len(dims) > 4:
        for i in range(out.shape[0]):
            walk(x, start + i * strides[0], strides[1:], out.select(0, i))
        return
    columns = dims[0][0]
    rows = n // columns
    block_r, block_c = tile(columns)
    place_kernel[(triton.cdiv(rows, block_r) * triton.cdiv(columns, block_c),)](
        x,
        out,
        start,
        rows,
        columns,
        dims[1][0],
        dims[2][0],
        *[here for _, here, _ in dims],
        *[there for _, _, there in dims],
        num_warps=4,
    )


def prepare(self, k, dims):
    """The answer's shape, the offset of its first element in self, and the strides by which self is read."""
    rank = self.dim()
    if len(dims) != 2:
        raise RuntimeError(f"expected two rotation dims, but got {len(dims)}")
    if rank < 2:
        raise RuntimeError(f"expected at least two dimensions, but got {rank}")
    for d in dims:
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
    a, b = dims[0] % rank, dims[1] % rank
    if a == b:
        raise RuntimeError("expected the rotation dims to be different")
    shape, strides, start = list(self.shape), list(self.stride()), 0
    if k % 4 in (1, 2):
        start = start + (shape[b] - 1) * strides[b]
        strides[b] = -strides[b]
    if k % 4 in (2, 3):
        start = start + (shape[a] - 1) * strides[a]
        strides[a] = -strides[a]
    if k % 2 == 1:
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
    return shape, start, strides


def rot90(self, k=1, dims=(0, 1)):
    shape, start, strides = prepare(self, k, dims)
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    walk(self, start, strides, out)
    return out


def rot90_out(self, k=1, dims=(0, 1), *, out):
    shape, start, strides = prepare(self, k, dims)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if list(out.shape) != shape:
        out.resize_(shape)
    walk(self, start, strides, out)
    return out
