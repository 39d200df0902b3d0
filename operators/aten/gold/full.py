"""One number over a whole tensor: one kernel that stores a number over any strides; flat where memory is dense."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def fill_kernel(out_ptr, value, n, sizes, strides, OUTER: tl.constexpr, DOUBLE_BITS: tl.constexpr, BLOCK: tl.constexpr):
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    offsets = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(OUTER):
        offsets += rest % sizes[d] * strides[d]
        rest //= sizes[d]
    x = tl.cast(value, tl.int64).to(tl.float64, bitcast=True) if DOUBLE_BITS else value
    x = tl.full((BLOCK,), x, out_ptr.dtype.element_ty)
    tl.store(out_ptr + offsets + rest * strides[OUTER], x, mask=mask)


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


def fill(out, value):
    """Store a number, of out's kind, everywhere."""
    if out.numel() == 0:
        return out
    if out.dtype.is_complex:
        parts = torch.view_as_real(out)
        fill(parts.select(-1, 0), value.real)
        fill(parts.select(-1, 1), value.imag)
        return out
    sizes, strides = runs(out)
    n = math.prod(sizes)
    double = out.dtype == torch.float64
    fill_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        out, bits(value) if double else value, n, sizes, strides, OUTER=len(sizes) - 1, DOUBLE_BITS=double,
        BLOCK=BLOCK_SIZE, num_warps=4,
    )  # fmt: skip
    return out


def sized(out, size):
    """out, brought to a size."""
    if list(out.shape) != list(size):
        out.resize_(size)
    return out


def kind_of(value):
    """The dtype of an answer that is given none."""
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, int):
        return torch.int64
    return torch.complex64 if isinstance(value, complex) else torch.get_default_dtype()


def full(size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    out = torch.empty(size, dtype=dtype or kind_of(fill_value), device=device)
    return fill(out, checked(fill_value, out.dtype))


def full_out(size, fill_value, *, out):
    value = checked(fill_value, out.dtype)
    return fill(sized(out, size), value)
