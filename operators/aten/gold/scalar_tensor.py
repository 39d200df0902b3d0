"""A number as a tensor without dimensions: one program stores it."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def store_kernel(out_ptr, value, DOUBLE_BITS: tl.constexpr):
    if DOUBLE_BITS:
        x = tl.cast(value, tl.int64).to(tl.float64, bitcast=True)
    else:
        x = tl.cast(value, out_ptr.dtype.element_ty)
    tl.store(out_ptr, x)


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


def store(out, value):
    """Store a number, of out's kind, in a tensor of one element."""
    if out.dtype.is_complex:
        parts = torch.view_as_real(out)
        store(parts.select(-1, 0), value.real)
        store(parts.select(-1, 1), value.imag)
        return out
    double = out.dtype == torch.float64
    store_kernel[(1,)](out, bits(value) if double else value, DOUBLE_BITS=double, num_warps=1)
    return out


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=None):
    out = torch.empty((), dtype=dtype or torch.get_default_dtype(), device=device)
    return store(out, checked(s, out.dtype))


def scalar_tensor_out(s, *, out):
    if out.dim():
        out.resize_(())
    return store(out, checked(s, out.dtype))
