"""A range: every program computes its numbers from their indices."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def range_kernel(out_ptr, start, step, n, stride, DOUBLE_BITS: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if DOUBLE_BITS:
        first = tl.cast(start, tl.int64).to(tl.float64, bitcast=True)
        values = first + index * tl.cast(step, tl.int64).to(tl.float64, bitcast=True)
    else:
        values = start + index * step
    tl.store(out_ptr + index * stride, values.to(out_ptr.dtype.element_ty), mask=index < n)


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


def count(start, end, step):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if all(isinstance(v, int) for v in (start, end, step)):
        return -((start - end) // step)
    return math.ceil((end - start) / step)


def fill(out, start, step):
    n = out.numel()
    if n == 0:
        return out
    double, kind = out.dtype == torch.float64, float if out.dtype.is_floating_point else int
    first, distance = kind(start), kind(step)
    range_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        out,
        bits(first) if double else first,
        bits(distance) if double else distance,
        n,
        out.stride(0),
        DOUBLE_BITS=double,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )
    return out


def arange_start_step(start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=None):
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        dtype = torch.int64 if whole else torch.get_default_dtype()
    return fill(torch.empty((count(start, end, step),), dtype=dtype, device=device), start, step)


def arange_start(start, end, *, dtype=None, layout=None, device=None, pin_memory=None):
    return arange_start_step(start, end, 1, dtype=dtype, device=device)


def arange(end, *, dtype=None, layout=None, device=None, pin_memory=None):
    return arange_start_step(0, end, 1, dtype=dtype, device=device)


def arange_start_out(start, end, step=1, *, out):
    n = count(start, end, step)
    if out.dim() != 1 or out.numel() != n:
        out.resize_((n,))
    return fill(out, start, step)


def arange_out(end, *, out):
    return arange_start_out(0, end, 1, out=out)
