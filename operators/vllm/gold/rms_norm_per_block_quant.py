import torch
import triton
import triton.language as tl


@triton.jit
def norm_block_quant_kernel(
    out,
    scales,
    x,
    weight,
    scale_ub,
    residual,
    hidden,
    row_stride,
    group_stride,
    epsilon,
    UB: tl.constexpr,
    RESIDUAL: tl.constexpr,
    FP8: tl.constexpr,
    GROUP: tl.constexpr,
    GROUPS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    group = tl.arange(0, GROUPS)
    columns = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = columns < hidden
    at = row * hidden + columns
    raw = tl.load(x + at, mask=mask, other=0.0)
    value = raw.to(tl.float32)
    if RESIDUAL:
        value += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(residual + at, value.to(raw.dtype), mask=mask)
    mean = tl.sum(tl.sum(value * value, axis=1), axis=0) / hidden
    scaled = (value * tl.rsqrt(mean + epsilon)).to(raw.dtype)
    w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    y = (scaled * w).to(raw.dtype).to(tl.float32)
    largest = tl.max(tl.abs(y), axis=1)
    if UB:
        largest = tl.minimum(largest, tl.load(scale_ub))
    if FP8:
        scale = tl.maximum(tl.div_rn(largest, 448.0), 4.359654017857143e-06)
        tl.store(out + at, tl.div_rn(y, scale[:, None] + tl.zeros_like(y)).to(tl.float8e4nv), mask=mask)
    else:
        scale = tl.maximum(tl.div_rn(largest, 127.0), 1.1920928955078125e-07)
        # Adding 1.5 * 2**23 leaves an integer, rounded to nearest even.
        near = (y * tl.div_rn(1.0, scale)[:, None] + 12582912.0) - 12582912.0
        code = tl.minimum(tl.maximum(near, -128.0), 127.0)
        tl.store(out + at, code.to(tl.int8), mask=mask)
    tl.store(scales + row * row_stride + group * group_stride, scale, mask=group * GROUP < hidden)


def rms_norm_per_block_quant(
    input, weight, epsilon, quant_dtype, group_size, scale_ub=None, residual=None, is_scale_transposed=False
):
    tokens, hidden = input.shape
    group = group_size[1]
    groups = hidden // group
    out = torch.empty(input.shape, dtype=quant_dtype, device=input.device)
    if is_scale_transposed:
        scales = torch.empty((groups, tokens), dtype=torch.float32, device=input.device).t()
    else:
        scales = torch.empty((tokens, groups), dtype=torch.float32, device=input.device)
    if tokens == 0:
        return out, scales
    padded = triton.next_power_of_2(groups)
    norm_block_quant_kernel[(tokens,)](
        out,
        scales,
        input,
        weight,
        scale_ub if scale_ub is not None else scales,
        residual if residual is not None else input,
        hidden,
        scales.stride(0),
        scales.stride(1),
        epsilon,
        UB=scale_ub is not None,
        RESIDUAL=residual is not None,
        FP8=quant_dtype == torch.float8_e4m3fn,
        GROUP=group,
        GROUPS=padded,
        num_warps=4 if padded * group <= 2048 else (8 if padded * group <= 8192 else 16),
    )
    return out, scales
