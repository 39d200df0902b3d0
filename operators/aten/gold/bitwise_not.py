"""Bitwise complement: one flat kernel over memory; for bools 1 - x."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def bitwise_not_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if x.dtype == tl.int1:
        y = x == 0
    else:
        y = ~x
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def launch(x, out):
    """Write ~x to out; both are dense with the same strides."""
    n = out.numel()
    if n:
        bitwise_not_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK=BLOCK_SIZE, num_warps=4)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def refuse_floating(x):
    if x.is_floating_point():
        raise NotImplementedError(f"bitwise_not is not defined for {x.dtype}")


def bitwise_not(self):
    refuse_floating(self)
    out = torch.empty_like(self)
    launch(laid_out_like(self, out), out)
    return out


def bitwise_not_out(self, *, out):
    refuse_floating(self)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Found dtype {out.dtype} but expected {self.dtype}")
    if out.shape != self.shape:
        out.resize_(self.shape)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(laid_out_like(self, out), out)
    else:
        launch(laid_out_like(self, dense), dense)
        out.copy_(dense)
    return out
