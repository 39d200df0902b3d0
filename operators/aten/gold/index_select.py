"""Selection along the middle of (outer, n, inner): tiles of answer rows (outer, index) by columns (inner)."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK_C": lambda args: min(triton.next_power_of_2(args["inner"]), 1024),
        "BLOCK_R": lambda args: max(1, 1024 // triton.next_power_of_2(args["inner"])),
    }
)
@triton.jit
def select_kernel(
    x_ptr,
    index_ptr,
    out_ptr,
    rows,
    n,
    picked,
    inner,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Row r = (o, j) of the answer is row (o, index[j]) of x."""
    tiles = tl.cdiv(inner, BLOCK_C)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(0) % tiles * BLOCK_C + tl.arange(0, BLOCK_C)
    at = tl.load(index_ptr + r % picked)
    source = r // picked * n + at
    mask = (r < rows)[:, None] & (c < inner)[None, :]
    x = tl.load(x_ptr + source[:, None] * inner + c[None, :], mask=mask)
    tl.store(out_ptr + r[:, None] * inner + c[None, :], x, mask=mask)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def prepare(self, dim, index):
    """The answer's shape, and the dimension from the front."""
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if index.dim() > 1:
        raise IndexError("the index is supposed to be a vector")
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(f"the index must be int32 or int64, not {index.dtype}")
    if self.dim() == 0:
        if index.numel() != 1:
            raise RuntimeError("a scalar has one entry to select")
        return (), 0
    dim = dim % rank
    return (*self.shape[:dim], index.numel(), *self.shape[dim + 1 :]), dim


def launch(x, dim, index, out):
    """Write the selection to out, which is contiguous."""
    if out.numel() == 0:
        return
    x, n = x.contiguous(), x.shape[dim] if x.dim() else 1
    inner = product(x.shape[dim + 1 :])
    rows = out.numel() // inner
    block = triton.next_power_of_2(inner)
    programs = triton.cdiv(rows, max(1, 1024 // block)) * triton.cdiv(inner, min(block, 1024))
    select_kernel[(programs,)](x, index.contiguous(), out, rows, n, index.numel(), inner, num_warps=4)


def index_select(self, dim, index):
    shape, dim = prepare(self, dim, index)
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    launch(self, dim, index, out)
    return out


def index_select_out(self, dim, index, *, out):
    shape, dim = prepare(self, dim, index)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    if out.is_contiguous():
        launch(self, dim, index, out)
    else:
        dense = torch.empty(shape, dtype=out.dtype, device=out.device)
        launch(self, dim, index, dense)
        out.copy_(dense)
    return out
