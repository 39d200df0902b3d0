"""Subtraction with alpha, broadcasting and promotion: a kernel for two tensors, one for a tensor and a number."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def working(x, like_ptr):
    """x in the type in which the answer is computed: fp32 for 16-bit floats, else the answer's own."""
    kind: tl.constexpr = like_ptr.dtype.element_ty
    if kind == tl.float16 or kind == tl.bfloat16:
        return x.to(tl.float32)
    else:
        return x.to(kind)


@triton.jit
def subtract_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    alpha,
    n,
    A_STEP: tl.constexpr,
    B_STEP: tl.constexpr,
    ALPHA_IN_MEMORY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = working(tl.load(a_ptr + offsets * A_STEP, mask=mask, other=0), out_ptr)
    b = working(tl.load(b_ptr + offsets * B_STEP, mask=mask, other=0), out_ptr)
    if ALPHA_IN_MEMORY:
        factor = tl.load(alpha)
    else:
        factor = alpha
    tl.store(out_ptr + offsets, (a - factor * b).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def scale_and_shift_kernel(x_ptr, out_ptr, factor, shift, n, IN_MEMORY: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = working(tl.load(x_ptr + offsets, mask=mask, other=0), out_ptr)
    if IN_MEMORY:
        y = x * tl.load(factor) + tl.load(shift)
    else:
        y = x * factor + shift
    tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def is_tensor(x):
    return isinstance(x, torch.Tensor)


def checked(alpha, dtype):
    """alpha as a number of the answer's kind."""
    floating = dtype.is_floating_point
    if alpha is True or alpha is False:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not floating:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return float(alpha) if floating else int(alpha)


def broadcast(first, second):
    """The common shape of two shapes."""
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + tuple(first)
    b = (1,) * (rank - len(second)) + tuple(second)
    for dim in range(rank):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def passed(number, dtype, device):
    """A number as kernels take it: fp64 would lose digits as an argument, so it goes through memory."""
    return torch.full((1,), number, dtype=dtype, device=device) if dtype == torch.float64 else number


def laid_out_like(x, out):
    """x broadcast to out's shape with out's strides; one element stays one element."""
    if x.numel() == 1:
        return x, 0
    x = x.expand(out.shape)
    if x.stride() != out.stride():
        x = torch.empty_like(out, dtype=x.dtype).copy_(x)
    return x, 1


def launch(a, b, alpha, out):
    """Write a - alpha * b to out, which is dense and of the answer's shape and promoted type."""
    n = out.numel()
    if n == 0:
        return
    grid = (triton.cdiv(n, BLOCK_SIZE),)
    double = out.dtype == torch.float64
    if is_tensor(a) and is_tensor(b):
        a, a_step = laid_out_like(a, out)
        b, b_step = laid_out_like(b, out)
        subtract_kernel[grid](
            a,
            b,
            out,
            passed(alpha, out.dtype, out.device),
            n,
            A_STEP=a_step,
            B_STEP=b_step,
            ALPHA_IN_MEMORY=double,
            BLOCK=BLOCK_SIZE,
            num_warps=4,
        )
        return
    kind = float if out.dtype.is_floating_point else int
    x, factor, shift = (a, kind(1), -kind(b) * alpha) if is_tensor(a) else (b, -alpha, kind(a))
    scale_and_shift_kernel[grid](
        laid_out_like(x, out)[0],
        out,
        passed(factor, out.dtype, out.device),
        passed(shift, out.dtype, out.device),
        n,
        IN_MEMORY=double,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if is_tensor(x) and x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return (a if is_tensor(a) else b).new_empty(shape, dtype=dtype)


def is_bool(x):
    return x.dtype == torch.bool if is_tensor(x) else isinstance(x, bool)


def prepare(a, b, alpha):
    if is_bool(a) or is_bool(b):
        raise RuntimeError("Subtraction with a bool operand is not defined")
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    return dtype, shape, checked(alpha, dtype)


def functional(a, b, alpha):
    dtype, shape, alpha = prepare(a, b, alpha)
    out = fresh(a, b, shape, dtype)
    launch(a, b, alpha, out)
    return out


def into(a, b, alpha, out, same_dtype):
    dtype, shape, alpha = prepare(a, b, alpha)
    if out.dtype != dtype and (same_dtype or not torch.can_cast(dtype, out.dtype)):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != shape:
        out.resize_(shape)
    dense = torch.empty_like(out, dtype=dtype)
    if out.dtype == dtype and dense.stride() == out.stride():
        launch(a, b, alpha, out)
    else:
        launch(a, b, alpha, dense)
        out.copy_(dense)
    return out


def sub_Tensor(self, other, *, alpha=1):
    return functional(self, other, alpha)


def sub_Scalar(self, other, alpha=1):
    return functional(self, other, alpha)


def sub_out(self, other, *, alpha=1, out):
    return into(self, other, alpha, out, same_dtype=False)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return into(self, other, alpha, out, same_dtype=True)
