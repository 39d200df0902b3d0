"""Multiplication with broadcasting and promotion; a number joins as a tensor of one element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def mul_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(b_ptr + offsets * B_STEP, mask=mask)
    kind: tl.constexpr = out_ptr.dtype.element_ty
    work: tl.constexpr = tl.float32 if kind == tl.float16 or kind == tl.bfloat16 else kind

    if work == tl.int1:
        y = a & b
    else:
        y = a.to(work) * b.to(work)
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def complex_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Pairs of real and imaginary parts."""
    offsets = 2 * (tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK))
    mask = offsets < 2 * n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(a_ptr + offsets * A_STEP + 1, mask=mask)
    c = tl.load(b_ptr + offsets * B_STEP, mask=mask)
    d = tl.load(b_ptr + offsets * B_STEP + 1, mask=mask)
    tl.store(out_ptr + offsets, a * c - b * d, mask=mask)
    tl.store(out_ptr + offsets + 1, a * d + b * c, mask=mask)


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


def as_pairs(x, out):
    """x as pairs of real and imaginary parts of out's type."""
    return torch.view_as_real(x if x.dtype == out.dtype else x.to(out.dtype))


def launch(a, b, out):
    """Write a * b to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    if out.is_complex():
        complex_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
            as_pairs(a, out),
            as_pairs(b, out),
            torch.view_as_real(out),
            n,
            A_STEP=a_step,
            B_STEP=b_step,
            BLOCK=BLOCK_SIZE,
        )
        return
    mul_kernel[(triton.cdiv(n, BLOCK_SIZE),)](a, b, out, n, A_STEP=a_step, B_STEP=b_step, BLOCK=BLOCK_SIZE, num_warps=4)


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if is_tensor(x) and x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return (a if is_tensor(a) else b).new_empty(shape, dtype=dtype)


def functional(a, b):
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    device = a.device if is_tensor(a) else b.device
    out = fresh(a, b, shape, dtype)
    launch(in_memory(a, dtype, device), in_memory(b, dtype, device), out)
    return out


def into(a, b, out, same_dtype):
    dtype = torch.result_type(a, b)
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


def mul_Tensor(self, other):
    return functional(self, other)


def mul_Scalar(self, other):
    return functional(self, other)


def mul_out(self, other, *, out):
    return into(self, other, out, same_dtype=False)


def mul_Scalar_out(self, other, *, out):
    return into(self, other, out, same_dtype=True)
