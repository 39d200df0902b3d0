"""Division in place: one kernel for true, truncated and floored quotients; a number joins as a tensor of one element."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def div_kernel(
    a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr
):
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
    if MODE == "trunc":
        if work.is_floating():
            y = tl.where(y < 0, tl.ceil(y), tl.floor(y))
    elif MODE == "floor":
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


def launch(a, b, mode, out):
    """Write the quotient of a and b to out, which is dense and of the answer's shape."""
    n = out.numel()
    if n == 0:
        return
    a, a_step = laid_out_like(a, out)
    b, b_step = laid_out_like(b, out)
    div_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        a, b, out, n, A_STEP=a_step, B_STEP=b_step, MODE=mode, BLOCK=BLOCK_SIZE, num_warps=4
    )


def answer_dtype(a, b, mode):
    """The answer's type: a true quotient is a floating-point number."""
    if mode not in (None, "trunc", "floor"):
        raise RuntimeError(f"rounding_mode is None, 'trunc' or 'floor', not {mode!r}")
    dtype = torch.result_type(a, b)
    if mode is None:
        return torch.result_type(torch.empty((), dtype=dtype), 1.0)
    if dtype == torch.bool:
        raise NotImplementedError("a rounded quotient of bools is not defined")
    return dtype


def in_place(self, other, mode):
    dtype = answer_dtype(self, other, mode)
    if not torch.can_cast(dtype, self.dtype):
        raise RuntimeError(f"result type {dtype} can't be cast to the desired output type {self.dtype}")
    if is_tensor(other) and broadcast(self.shape, other.shape) != tuple(self.shape):
        raise RuntimeError(f"output with shape {tuple(self.shape)} doesn't match the broadcast shape")
    if any(s == 0 and n > 1 for s, n in zip(self.stride(), self.shape, strict=True)):
        raise RuntimeError("more than one element of the written-to tensor refers to a single memory location")
    other = in_memory(other, dtype, self.device)
    dense = torch.empty_like(self, dtype=dtype)
    if self.dtype == dtype and dense.stride() == self.stride():
        launch(self, other, mode, self)
    else:
        launch(self, other, mode, dense)
        self.copy_(dense)
    return self


def div__Tensor(self, other):
    return in_place(self, other, None)


def div__Scalar(self, other):
    return in_place(self, other, None)


def div__Tensor_mode(self, other, *, rounding_mode):
    return in_place(self, other, rounding_mode)


def div__Scalar_mode(self, other, *, rounding_mode):
    return in_place(self, other, rounding_mode)
