"""Filling under a mask, in place: one flat kernel that stores where the mask is true."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def fill_kernel(x_ptr, mask_ptr, value_ptr, n, MASK_STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    chosen = tl.load(mask_ptr + offsets * MASK_STEP, mask=inside, other=0)
    value = tl.load(value_ptr)
    if x_ptr.dtype.element_ty == tl.int1:
        value = value != 0
    else:
        value = value.to(x_ptr.dtype.element_ty)
    tl.store(x_ptr + offsets, tl.full((BLOCK,), value, x_ptr.dtype.element_ty), mask=inside & (chosen != 0))


def laid_out_like(x, out):
    """x broadcast to out's shape with out's strides; one element stays one element."""
    if x.numel() == 1:
        return x, 0
    x = x.expand(out.shape)
    if x.stride() != out.stride():
        x = torch.empty_like(out, dtype=x.dtype).copy_(x)
    return x, 1


def check_mask(self, mask):
    if mask.dtype != torch.bool:
        raise RuntimeError(f"the mask must be a bool tensor, not {mask.dtype}")
    if torch.broadcast_shapes(self.shape, mask.shape) != self.shape:
        raise RuntimeError(f"a tensor of shape {tuple(self.shape)} can't grow to that of the mask")


def fill(self, mask, value):
    """Store the one element of value in self where the mask is true."""
    check_mask(self, mask)
    dense = torch.empty_like(self)
    if dense.stride() == self.stride():
        dense = self
    else:
        dense.copy_(self)
    n = self.numel()
    if n:
        mask, step = laid_out_like(mask, dense)
        fill_kernel[(triton.cdiv(n, BLOCK_SIZE),)](dense, mask, value, n, MASK_STEP=step, BLOCK=BLOCK_SIZE, num_warps=4)
    if dense is not self:
        self.copy_(dense)
    return self


def masked_fill__Scalar(self, mask, value):
    return fill(self, mask, torch.full((), value, dtype=self.dtype, device=self.device))


def masked_fill__Tensor(self, mask, value):
    if value.dim():
        raise RuntimeError(f"the value must have no dimensions, not {value.dim()}")
    return fill(self, mask, value)
