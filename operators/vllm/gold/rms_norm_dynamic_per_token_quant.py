import torch
import triton
import triton.language as tl


@triton.jit
def norm_quant_kernel(
    out,
    scales,
    x,
    weight,
    scale_ub,
    residual,
    hidden,
    epsilon,
    UB: tl.constexpr,
    RESIDUAL: tl.constexpr,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < hidden
    at = row * hidden + columns
    raw = tl.load(x + at, mask=mask, other=0.0)
    value = raw.to(tl.float32)
    if RESIDUAL:
        value += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(residual + at, value.to(raw.dtype), mask=mask)
    mean = tl.sum(value * value, axis=0) / hidden
    scaled = (value * tl.rsqrt(mean + epsilon)).to(raw.dtype)
    w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    y = (scaled * w).to(raw.dtype).to(tl.float32)
    largest = tl.max(tl.abs(y), axis=0)
    if UB:
        largest = tl.minimum(largest, tl.load(scale_ub))
    if FP8:
        scale = tl.maximum(tl.div_rn(largest, 448.0), 4.359654017857143e-06)
        tl.store(out + at, tl.div_rn(y, scale).to(tl.float8e4nv), mask=mask)
    else:
        scale = tl.maximum(tl.div_rn(largest, 127.0), 1.1920928955078125e-07)
        # Adding 1.5 * 2**23 leaves an integer, rounded to nearest even.
        near = (y * tl.div_rn(1.0, scale) + 12582912.0) - 12582912.0
        code = tl.minimum(tl.maximum(near, -128.0), 127.0)
        tl.store(out + at, code.to(tl.int8), mask=mask)
    tl.store(scales + row, scale)


def rms_norm_dynamic_per_token_quant(input, weight, epsilon, quant_dtype, scale_ub=None, residual=None):
    tokens, hidden = input.shape
    out = torch.empty(input.shape, dtype=quant_dtype, device=input.device)
    scales = torch.empty((tokens, 1), dtype=torch.float32, device=input.device)
    if tokens == 0:
        return out, scales
    block = triton.next_power_of_2(hidden)
    norm_quant_kernel[(tokens,)](
        out,
        scales,
        input,
        weight,
        scale_ub if scale_ub is not None else scales,
        residual if residual is not None else input,
        hidden,
        epsilon,
        UB=scale_ub is not None,
        RESIDUAL=residual is not None,
        FP8=quant_dtype == torch.float8_e4m3fn,
        BLOCK=block,
        num_warps=4 if block <= 2048 else (8 if block <= 8192 else 16),
    )
    return out, scales
