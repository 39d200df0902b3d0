"""Logarithm of a sum of powers of two: the larger exponent, and what the smaller adds."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def logaddexp2_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(b_ptr + offsets * B_STEP, mask=mask)
    kind: tl.constexpr = out_ptr.dtype.element_ty
    work: tl.constexpr = tl.float32 if kind == tl.float16 or kind == tl.bfloat16 else kind

    a = a.to(work)
    b = b.to(work)
    top = tl.where(a > b, a, b)
    small = tl.exp2(-tl.abs(a - b))
    y = top + tl.log2(1 + small)
    y = tl.where(a == b, a + 1, y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def broadcast(first, second):
    """The common shape of two shapes."""
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + tuple(first)
    b = (1,) * (rank - len(second)) + tuple(second)
    for dim in range(rank):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def laid_out_like(x, out):
    """x broadcast to out's shape with out's strides; one element stays one element."""
    if x.numel() == 1:
        return x, 0
    x = x.expand(out.shape)
    if x.stride() != out.stride():
        x = torch.empty_like(out, dtype=x.dtype).copy_(x)
    return x, 1


def launch(a, b, out):
    """Write log2(2 ** a + 2 ** b) to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    logaddexp2_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        a, b, out, n, A_STEP=a_step, B_STEP=b_step, BLOCK=BLOCK_SIZE, num_warps=4
    )


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return a.new_empty(shape, dtype=dtype)


def require_floating(a, b):
    if not torch.result_type(a, b).is_floating_point:
        raise NotImplementedError("logaddexp2 is not defined for integers")


def functional(a, b):
    require_floating(a, b)
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape, b.shape)
    out = fresh(a, b, shape, dtype)
    launch(a, b, out)
    return out


def into(a, b, out):
    require_floating(a, b)
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape, b.shape)
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != shape:
        out.resize_(shape)
    dense = torch.empty_like(out, dtype=dtype)
    if out.dtype == dtype and dense.stride() == out.stride():
        launch(a, b, out)
    else:
        launch(a, b, dense)
        out.copy_(dense)
    return out


def logaddexp2(self, other):
    return functional(self, other)


def logaddexp2_out(self, other, *, out):
    return into(self, other, out)
