"""Powers: by a logarithm for floating-point numbers, by squaring for integers."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def power_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    n,
    A_STEP: tl.constexpr,
    B_STEP: tl.constexpr,
    INTEGERS: tl.constexpr,
    HALF: tl.constexpr,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets * A_STEP, mask=mask)
    b = tl.load(b_ptr + offsets * B_STEP, mask=mask)
    if INTEGERS:
        # By squaring; the exponents are not negative.
        base = a.to(tl.int64)
        rest = tl.where(mask, b, 0).to(tl.int64)
        y = tl.full((BLOCK,), 1, tl.int64)
        while tl.max(rest) > 0:
            y = tl.where(rest % 2 == 1, y * base, y)
            base = base * base
            rest = rest // 2
    else:
        # fp32 powers by an fp64 logarithm, of which a large exponent leaves enough digits.
        work: tl.constexpr = tl.float32 if HALF else tl.float64
        a = a.to(work)
        b = b.to(work)
        size = tl.abs(a)
        y = tl.where(size == 1, 1.0, tl.exp2(b * tl.log2(size)))
        whole = tl.floor(b) == b
        odd = whole & (tl.floor(0.5 * b) != 0.5 * b)
        # An infinity counts as whole and even.
        y = tl.where(((a < 0) | (1 / a == float("-inf"))) & odd, -y, y)
        y = tl.where((a < 0) & (size < float("inf")) & ~whole, float("nan"), y)
        y = tl.where((a != a) | (b != b), float("nan"), y)
        y = tl.where((a == 1) | (b == 0), 1.0, y)
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


def in_memory(x, dtype, device):
    """A tensor as it is; a number as a tensor of one element."""
    if is_tensor(x):
        return x
    return torch.full((), x, dtype=torch.float64 if dtype.is_floating_point else dtype, device=device)


def launch(a, b, dtype, out):
    """Write a ** b to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    power_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        a,
        b,
        out,
        n,
        A_STEP=a_step,
        B_STEP=b_step,
        INTEGERS=not dtype.is_floating_point,
        HALF=dtype.itemsize == 2,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )


def check_exponent(a, b):
    if not is_tensor(b) and b < 0 and not torch.result_type(a, b).is_floating_point:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def fresh(a, b, shape, dtype):
    """An output with the strides of the operand that has its shape, if any."""
    for x in (a, b):
        if is_tensor(x) and x.shape == shape:
            return torch.empty_like(x, dtype=dtype)
    return (a if is_tensor(a) else b).new_empty(shape, dtype=dtype)


def functional(a, b):
    check_exponent(a, b)
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    device = a.device if is_tensor(a) else b.device
    out = fresh(a, b, shape, dtype)
    launch(in_memory(a, dtype, device), in_memory(b, dtype, device), dtype, out)
    return out


def into(a, b, out):
    check_exponent(a, b)
    dtype = torch.result_type(a, b)
    shape = broadcast(a.shape if is_tensor(a) else (), b.shape if is_tensor(b) else ())
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {out.dtype}")
    if out.shape != shape:
        out.resize_(shape)
    a, b = in_memory(a, dtype, out.device), in_memory(b, dtype, out.device)
    dense = torch.empty_like(out, dtype=dtype)
    if out.dtype == dtype and dense.stride() == out.stride():
        launch(a, b, dtype, out)
    else:
        launch(a, b, dtype, dense)
        out.copy_(dense)
    return out


def pow_Tensor_Tensor(self, exponent):
    return functional(self, exponent)


def pow_Tensor_Scalar(self, exponent):
    return functional(self, exponent)


def pow_Scalar(self, exponent):
    return functional(self, exponent)


def pow_Tensor_Tensor_out(self, exponent, *, out):
    return into(self, exponent, out)


def pow_Tensor_Scalar_out(self, exponent, *, out):
    return into(self, exponent, out)


def pow_Scalar_out(self, exponent, *, out):
    return into(self, exponent, out)
