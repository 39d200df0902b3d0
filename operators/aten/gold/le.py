"""Less or equal: operands meet in fp32, fp64 or int64; a number joins as a tensor of one element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def le_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(b_ptr + offsets * B_STEP, mask=mask)
    # One operand in the widest type of its kind takes the other along.
    if a.dtype.is_floating() or b.dtype.is_floating():
        y = a.to(tl.float64 if a.dtype == tl.float64 or b.dtype == tl.float64 else tl.float32) <= b
    else:
        y = a.to(tl.int64) <= b
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


def in_memory(x, other):
    """A tensor as it is; a number as a tensor of one element."""
    if is_tensor(x):
        return x
    floating = torch.result_type(other, x).is_floating_point
    dtype = torch.int64 if not floating else torch.float64 if other.dtype == torch.float64 else torch.float32
    return torch.full((), x, dtype=dtype, device=other.device)


def launch(a, b, out):
    """Write a <= b to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    le_kernel[(triton.cdiv(n, BLOCK_SIZE),)](a, b, out, n, A_STEP=a_step, B_STEP=b_step, BLOCK=BLOCK_SIZE, num_warps=4)


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if is_tensor(x) and x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return (a if is_tensor(a) else b).new_empty(shape, dtype=dtype)


def functional(a, b):
    shape = broadcast(a.shape, b.shape if is_tensor(b) else ())
    out = fresh(a, b, shape, torch.bool)
    launch(a, in_memory(b, a), out)
    return out


def into(a, b, out):
    shape = broadcast(a.shape, b.shape if is_tensor(b) else ())
    if out.shape != shape:
        out.resize_(shape)
    b = in_memory(b, a)
    dense = torch.empty_like(out)
    if dense.stride() == out.stride():
        launch(a, b, out)
    else:
        launch(a, b, dense)
        out.copy_(dense)
    return out


def le_Tensor(self, other):
    return functional(self, other)


def le_Scalar(self, other):
    return functional(self, other)


def le_Tensor_out(self, other, *, out):
    return into(self, other, out)


def le_Scalar_out(self, other, *, out):
    return into(self, other, out)
