"""Pieces of given sizes along a dimension: views; into given tensors by a copy kernel."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def copy_kernel(
    src_ptr, dst_ptr, n, sizes, src_strides, dst_strides, OUTER: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    src = tl.zeros((BLOCK,), tl.int64)
    dst = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(OUTER):
        at = rest % sizes[d]
        src += at * src_strides[d]
        dst += at * dst_strides[d]
        rest //= sizes[d]
    x = tl.load(src_ptr + src + rest * src_strides[OUTER], mask=mask)
    tl.store(dst_ptr + dst + rest * dst_strides[OUTER], x, mask=mask)


def runs(dst, src):
    """Sizes and both tensors' strides, innermost first: neighbours joined where both lie side by side; never empty."""
    dims = sorted((d, s, n) for n, d, s in zip(dst.shape, dst.stride(), src.stride(), strict=True) if n > 1)
    found = []
    for d, s, n in dims:
        if found and d == found[-1][0] * found[-1][2] and s == found[-1][1] * found[-1][2]:
            found[-1][2] *= n
        else:
            found.append([d, s, n])
    dst_strides, src_strides, sizes = zip(*(found or [[1, 1, 1]]), strict=True)
    return sizes, src_strides, dst_strides


def launch(dst, src):
    sizes, src_strides, dst_strides = runs(dst, src)
    n = math.prod(sizes)
    copy_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        src, dst, n, sizes, src_strides, dst_strides, OUTER=len(sizes) - 1, BLOCK=BLOCK_SIZE, num_warps=4
    )


def write(outs, pieces):
    """Copy every piece to its out, brought to its size."""
    if len(outs) != len(pieces):
        raise RuntimeError(f"{len(pieces)} outs are needed, not {len(outs)}")
    for out, piece in zip(outs, pieces, strict=True):
        if out.shape != piece.shape:
            out.resize_(piece.shape)
        if out.numel():
            complex_parts = out.is_complex()
            launch(
                torch.view_as_real(out) if complex_parts else out,
                torch.view_as_real(piece) if complex_parts else piece,
            )


def unsafe_split_with_sizes(self, split_sizes, dim=0):
    if self.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = self.size(dim)
    if sum(split_sizes) != size or min(split_sizes, default=0) < 0:
        raise RuntimeError(f"the sizes {split_sizes} do not add up to {size}")
    pieces, start = [], 0
    for length in split_sizes:
        pieces.append(self.narrow(dim, start, length))
        start += length
    return pieces


def unsafe_split_with_sizes_out(self, split_sizes, dim=0, *, out):
    write(out, unsafe_split_with_sizes(self, split_sizes, dim))
