"""Embedding: tiles of rows by columns; each row's number is read once."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK_C": lambda args: min(triton.next_power_of_2(args["width"]), 1024),
        "BLOCK_R": lambda args: max(1, 1024 // triton.next_power_of_2(args["width"])),
    }
)
@triton.jit
def rows_kernel(
    table_ptr,
    index_ptr,
    out_ptr,
    count,
    width,
    row_stride,
    column_stride,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    tiles = tl.cdiv(width, BLOCK_C)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(0) % tiles * BLOCK_C + tl.arange(0, BLOCK_C)
    row = tl.load(index_ptr + r, mask=r < count).to(tl.int64)
    mask = (r < count)[:, None] & (c < width)[None, :]
    x = tl.load(table_ptr + row[:, None] * row_stride + c.to(tl.int64)[None, :] * column_stride, mask=mask)
    tl.store(out_ptr + r[:, None] * width + c[None, :], x, mask=mask)


def check(weight, indices):
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"indices must be int32 or int64, not {indices.dtype}")


def launch(weight, indices, out):
    """Write the rows to out, which is contiguous."""
    if out.numel() == 0:
        return
    count, width = indices.numel(), weight.shape[1]
    block = triton.next_power_of_2(width)
    programs = triton.cdiv(count, max(1, 1024 // block)) * triton.cdiv(width, min(block, 1024))
    rows_kernel[(programs,)](weight, indices.contiguous(), out, count, width, *weight.stride(), num_warps=4)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    check(weight, indices)
    out = torch.empty((*indices.shape, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    launch(weight, indices, out)
    return out


def embedding_out(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False, *, out):
    check(weight, indices)
    if out.dtype != weight.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {weight.dtype}, but got {out.dtype} instead")
    shape = (*indices.shape, weight.shape[1])
    if out.shape != shape:
        out.resize_(shape)
    if out.is_contiguous():
        launch(weight, indices, out)
    else:
        dense = torch.empty(shape, dtype=out.dtype, device=out.device)
        launch(weight, indices, dense)
        out.copy_(dense)
    return out
