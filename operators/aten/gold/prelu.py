"""Leaky ReLU with learnt slopes: one flat kernel over memory; an element's place in memory tells its channel."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def prelu_kernel(
    x_ptr, weight_ptr, out_ptr, n, channels, stride, WIDE: tl.constexpr, ONE: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    if WIDE:
        program = program.to(tl.int64)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if ONE:
        slope = tl.load(weight_ptr)
    else:
        slope = tl.load(weight_ptr + offsets // stride % channels, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    y = tl.where(x > 0, x, slope * x)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def laid_out_like(x, out):
    """x itself if its elements lie in memory as those of out, else a copy that does."""
    if x.stride() == out.stride():
        return x
    return torch.empty_like(out, dtype=x.dtype).copy_(x)


def check(x, weight):
    if x.dtype != weight.dtype:
        raise RuntimeError(f"self and weight must have one type, not {x.dtype} and {weight.dtype}")
    if weight.dim() > 1:
        raise RuntimeError(f"weight must have at most one dimension, not {weight.dim()}")
    if weight.numel() != 1:
        channels = x.shape[1] if x.dim() > 1 else 1
        if x.dim() == 0 or weight.numel() != channels:
            raise RuntimeError(f"{weight.numel()} slopes for {channels} channels")


def prelu(self, weight):
    check(self, weight)
    out = torch.empty_like(self)
    n = out.numel()
    if n:
        one = weight.numel() == 1
        prelu_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            laid_out_like(self, out),
            weight.contiguous(),
            out,
            n,
            weight.numel(),
            1 if one else out.stride(1),
            WIDE=n > 1 << 30,
            ONE=one,
            BLOCK=BLOCK_SIZE,
            num_warps=4,
        )
    return out
