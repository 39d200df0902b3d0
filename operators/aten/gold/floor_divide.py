"""Floored division: the remainder tells where a quotient was rounded up; a number joins as a tensor of one element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def floor_divide_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(b_ptr + offsets * B_STEP, mask=mask, other=1)
    kind: tl.constexpr = out_ptr.dtype.element_ty
    work: tl.constexpr = tl.float32 if kind == tl.float16 or kind == tl.bfloat16 else kind

    a = a.to(work)
    b = b.to(work)
    if work == tl.float32:
        y = tl.div_rn(a, b)
    elif work == tl.float64:
        y = a / b
    else:
        y = a // b
    if work.is_floating():
        # The remainder tells where the quotient was rounded up to a whole number.
        whole = tl.floor(y)
        rest = tl.fma(-whole.to(tl.float64), b.to(tl.float64), a.to(tl.float64))
        y = tl.where((tl.abs(rest) > 0) & ((rest < 0) != (b < 0)), whole - 1, whole)
        y = tl.where((tl.abs(b) == float("inf")) & (a != 0), tl.where((a < 0) != (b < 0), -1.0, 0.0), y)
        y = tl.where((b != 0) & ((tl.abs(a) == float("inf")) | (a != a) | (b != b)), float("nan"), y)
    else:
        y = tl.where((y * b != a) & ((a < 0) != (b < 0)), y - 1, y)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def is_tensor(x):
    return isinstance(x, torch.Tensor)


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


def working(dtype):
    """The type in which numbers join: fp32 for 16-bit floats."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def in_memory(x, dtype, device):
    """A tensor as it is; a number as a tensor of one element."""
    if is_tensor(x):
        return x
    return torch.full((), x, dtype=working(dtype), device=device)


def launch(a, b, out):
    """Write the floored quotient of a and b to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    floor_divide_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        a, b, out, n, A_STEP=a_step, B_STEP=b_step, BLOCK=BLOCK_SIZE, num_warps=4
    )


def answer_dtype(a, b):
    dtype = torch.result_type(a, b)
    if dtype == torch.bool:
        raise NotImplementedError("a floored quotient of bools is not defined")
    return dtype


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if is_tensor(x) and x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return (a if is_tensor(a) else b).new_empty(shape, dtype=dtype)


def functional(a, b):
    dtype = answer_dtype(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    device = a.device if is_tensor(a) else b.device
    out = fresh(a, b, shape, dtype)
    launch(in_memory(a, dtype, device), in_memory(b, dtype, device), out)
    return out


def into(a, b, out, same_dtype):
    dtype = answer_dtype(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    if out.dtype != dtype and (same_dtype or not torch.can_cast(dtype, out.dtype)):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != shape:
        out.resize_(shape)
    a, b = in_memory(a, dtype, out.device), in_memory(b, dtype, out.device)
    dense = torch.empty_like(out, dtype=dtype)
    if out.dtype == dtype and dense.stride() == out.stride():
        launch(a, b, out)
    else:
        launch(a, b, dense)
        out.copy_(dense)
    return out


def floor_divide(self, other):
    return functional(self, other)


def floor_divide_Scalar(self, other):
    return functional(self, other)


def floor_divide_out(self, other, *, out):
    return into(self, other, out, same_dtype=False)


def floor_divide_Scalar_out(self, other, *, out):
    return into(self, other, out, same_dtype=True)
