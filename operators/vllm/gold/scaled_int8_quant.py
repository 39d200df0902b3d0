import torch
import triton
import triton.language as tl


@triton.jit
def static_kernel(out, x, scale, azp, count, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    value = tl.load(x + at, mask=mask).to(tl.float32)
    quotient = tl.div_rn(value, tl.load(scale) + tl.zeros((BLOCK,), tl.float32))
    # Adding 1.5 * 2**23 to a number below 2**22 leaves an integer, rounded to nearest even.
    code = (tl.clamp(quotient, -1000000.0, 1000000.0) + 12582912.0) - 12582912.0
    if SHIFT:
        code += tl.load(azp).to(tl.float32)
    tl.store(out + at, tl.clamp(code, -128.0, 127.0), mask=mask)


@triton.jit
def by_row_kernel(out, x, scales, azps, hidden, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < hidden
    value = tl.load(x + row * hidden + column, mask=mask, other=0.0).to(tl.float32)
    if SHIFT:
        low = tl.min(tl.where(mask, value, float("inf")), axis=0)
        high = tl.max(tl.where(mask, value, float("-inf")), axis=0)
        scale = tl.div_rn(high - low, 255.0)
        azp = ((-128.0 - tl.div_rn(low, scale)) + 12582912.0) - 12582912.0
        near = (tl.div_rn(value, scale) + 12582912.0) - 12582912.0
        code = tl.clamp(near + azp, -128.0, 127.0)
        tl.store(azps + row, azp.to(tl.int32))
    else:
        largest = tl.max(tl.abs(value), axis=0)
        scale = tl.div_rn(largest, 127.0)
        factor = tl.where(largest > 0, tl.div_rn(127.0, largest), 0.0)
        code = (value * factor + 12582912.0) - 12582912.0
    tl.store(scales + row, scale)
    tl.store(out + row * hidden + column, code, mask=mask)


def scaled_int8_quant(input, scale=None, azp=None, symmetric=True):
    tokens, hidden = input.shape
    out = torch.empty(input.shape, dtype=torch.int8, device=input.device)
    if scale is not None:
        if symmetric != (azp is None):
            raise ValueError("symmetric quantisation has no azp, the other needs one")
        count = input.numel()
        shift = azp if azp is not None else scale
        static_kernel[(triton.cdiv(count, 1024),)](out, input, scale, shift, count, SHIFT=azp is not None, BLOCK=1024)
        return out, scale, azp
    scales = torch.empty((tokens, 1), dtype=torch.float32, device=input.device)
    azps = None if symmetric else torch.empty((tokens, 1), dtype=torch.int32, device=input.device)
    block = triton.next_power_of_2(hidden)
    by_row_kernel[(tokens,)](
        out,
        input,
        scales,
        azps if azps is not None else scales,
        hidden,
        SHIFT=not symmetric,
        BLOCK=block,
        num_warps=4 if block <= 2048 else 8,
    )
    return out, scales, azps
