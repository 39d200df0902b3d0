"""Negation: one flat kernel over memory; complex tensors as pairs of reals."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def neg_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype == tl.bfloat16:
        x = x.to(tl.float32)
    y = 0 - x
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, out):
    """Write -x to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        neg_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def refuse_bool(x):
    if x.dtype == torch.bool:
        raise RuntimeError("Negation of a bool tensor is not defined")


def write(x, out):
    """Write -x to out, whatever their strides."""
    dense = torch.empty_like(out)
    target = out if dense.stride() == out.stride() else dense
    x = laid_out_like(x, target)
    if out.is_complex():
        launch(torch.view_as_real(x), torch.view_as_real(target))
    else:
        launch(x, target)
    if target is not out:
        out.copy_(target)
    return out


def neg(self):
    refuse_bool(self)
    return write(self, torch.empty_like(self))


def neg_out(self, *, out):
    refuse_bool(self)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {out.dtype} but expected {self.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    return write(self, out)
