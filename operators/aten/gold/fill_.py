"""Fill in place: one kernel that stores a number over any strides; flat where memory is dense."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def fill_kernel(
    out_ptr, value, n, sizes, strides, OUTER: tl.constexpr, DOUBLE_BITS: tl.constexpr, LOADED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    offsets = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(OUTER):
        offsets += rest % sizes[d] * strides[d]
        rest //= sizes[d]
    offsets += rest * strides[OUTER]
    kind: tl.constexpr = out_ptr.dtype.element_ty
    if LOADED:
        x = tl.load(value)
        if kind == tl.int1:
            x = x != 0
    elif DOUBLE_BITS:
        x = tl.cast(value, tl.int64).to(tl.float64, bitcast=True)
    else:
        x = value
    tl.store(out_ptr + offsets, tl.full((BLOCK,), x, kind), mask=mask)


def runs(x):
    """Sizes and strides of x's memory, innermost first: repeats left out, neighbours joined; never empty."""
    dims = sorted((s, n) for n, s in zip(x.shape, x.stride(), strict=True) if n > 1 and s > 0)
    sizes, strides = [], []
    for stride, size in dims:
        if sizes and stride == sizes[-1] * strides[-1]:
            sizes[-1] *= size
        else:
            sizes.append(size)
            strides.append(stride)
    return (tuple(sizes), tuple(strides)) if sizes else ((1,), (1,))


def bits(value):
    """The 64 bits of a double as a signed integer: as a kernel's argument the number itself would lose digits."""
    if math.isnan(value):
        return 0x7FF8 << 48
    magnitude = abs(value)
    if math.isinf(value):
        pattern = 0x7FF << 52
    elif magnitude < 2.0**-1022:
        pattern = int(magnitude * 2.0**537 * 2.0**537)
    else:
        mantissa, exponent = math.frexp(magnitude)
        pattern = (exponent + 1021 << 52) + int(mantissa * 2.0**53)
    return pattern - (1 << 63) if math.copysign(1.0, value) < 0 else pattern


def checked(value, dtype):
    """value as a number of dtype.

    Raises:
        RuntimeError: dtype does not hold it.
    """
    if dtype == torch.bool:
        return int(bool(value))
    if dtype.is_complex:
        return complex(value)
    overflow = isinstance(value, complex) and value.imag != 0
    value = value.real if isinstance(value, complex) else value
    if dtype.is_floating_point:
        value = float(value)
        overflow |= math.isfinite(value) and abs(value) > torch.finfo(dtype).max
    elif isinstance(value, float) and not math.isfinite(value):
        overflow = True
    else:
        value = int(value)
        overflow |= not (torch.iinfo(dtype).min or -torch.iinfo(dtype).max) <= value <= torch.iinfo(dtype).max
    if overflow:
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow")
    return value


def real(x):
    """The parts of a complex tensor as one real tensor with a last dimension of two."""
    return torch.view_as_real(x.conj() if x.is_conj() else x)


def launch(x, value, *, loaded=False):
    sizes, strides = runs(x)
    n = math.prod(sizes)
    double = x.dtype == torch.float64 and not loaded
    fill_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        x, bits(value) if double else value, n, sizes, strides, OUTER=len(sizes) - 1, DOUBLE_BITS=double, LOADED=loaded,
        BLOCK=BLOCK_SIZE, num_warps=4,
    )  # fmt: skip


def fill__Scalar(self, value):
    value = checked(value, self.dtype)
    if self.numel() == 0:
        return self
    if self.dtype.is_complex:
        parts = real(self)
        launch(parts.select(-1, 0), value.real)
        launch(parts.select(-1, 1), value.imag)
    else:
        launch(self, value)
    return self


def fill__Tensor(self, value):
    if value.dim() != 0:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    if self.numel() == 0:
        return self
    if any(n > 1 and s == 0 for n, s in zip(self.shape, self.stride(), strict=True)):
        raise RuntimeError("unsupported operation: more than one element of self refers to a single memory location")
    if self.dtype.is_complex:
        parts = real(self)
        if not value.is_complex():
            launch(parts.select(-1, 0), value, loaded=True)
            launch(parts.select(-1, 1), 0.0)
            return self
        launch(parts.select(-1, 0), real(value).select(-1, 0), loaded=True)
        launch(parts.select(-1, 1), real(value).select(-1, 1), loaded=True)
    else:
        launch(self, value.real if value.is_complex() else value, loaded=True)
    return self
