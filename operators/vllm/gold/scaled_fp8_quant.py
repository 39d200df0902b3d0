import torch
import triton
import triton.language as tl


@triton.jit
def largest_kernel(x, parts, rows, hidden, stride, BLOCK: tl.constexpr):
    top = tl.zeros((BLOCK,), tl.float32)
    row = tl.program_id(0).to(tl.int64)
    while row < rows:
        for start in range(0, hidden, BLOCK):
            column = start + tl.arange(0, BLOCK)
            value = tl.load(x + row * stride + column, mask=column < hidden, other=0.0)
            top = tl.maximum(top, tl.abs(value.to(tl.float32)))
        row += tl.num_programs(0)
    tl.store(parts + tl.program_id(0), tl.max(top, axis=0))


@triton.jit
def by_tensor_kernel(
    out, x, scale, parts, count, hidden, stride, GIVEN: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < hidden
    value = tl.load(x + row * stride + column, mask=mask).to(tl.float32)
    if GIVEN:
        factor = tl.load(scale)
    else:
        part = tl.arange(0, PARTS)
        factor = tl.div_rn(tl.max(tl.load(parts + part, mask=part < count, other=0.0), axis=0), 448.0)
        tl.store(scale, factor)
    code = (value * tl.div_rn(1.0, factor)).to(tl.float8e4nv)
    tl.store(out + row * hidden + column, code, mask=mask)


@triton.jit
def by_row_kernel(out, x, scale, bound, hidden, stride, UB: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < hidden
    value = tl.load(x + row * stride + column, mask=mask, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(value), axis=0)
    if UB:
        largest = tl.minimum(largest, tl.load(bound))
    factor = tl.maximum(tl.div_rn(largest, 448.0), 4.359654017857143e-06)
    tl.store(scale + row, factor)
    tl.store(out + row * hidden + column, tl.div_rn(value, factor).to(tl.float8e4nv), mask=mask)


def scaled_fp8_quant(
    input, scale=None, num_token_padding=None, scale_ub=None, use_per_token_if_dynamic=False, output=None
):
    tokens, hidden = input.shape
    rows = max(tokens, num_token_padding or 0)
    out = output
    if out is None:
        out = torch.empty((rows, hidden), dtype=torch.float8_e4m3fn, device=input.device)
    if scale is None and use_per_token_if_dynamic:
        scales = torch.empty((rows, 1), dtype=torch.float32, device=input.device)
        block = triton.next_power_of_2(hidden)
        by_row_kernel[(tokens,)](
            out,
            input,
            scales,
            scale_ub if scale_ub is not None else scales,
            hidden,
            input.stride(0),
            UB=scale_ub is not None,
            BLOCK=block,
            num_warps=4 if block <= 2048 else 8,
        )
        return out, scales
    given = scale is not None
    count = min(tokens, 512)
    if given:
        parts = scale
    else:
        scale = torch.empty((1,), dtype=torch.float32, device=input.device)
        parts = torch.empty((count,), dtype=torch.float32, device=input.device)
        largest_kernel[(count,)](input, parts, tokens, hidden, input.stride(0), BLOCK=1024)
    block = min(triton.next_power_of_2(hidden), 4096)
    by_tensor_kernel[(tokens, triton.cdiv(hidden, block))](
        out,
        input,
        scale,
        parts,
        count,
        hidden,
        input.stride(0),
        GIVEN=given,
        PARTS=triton.next_power_of_2(count),
        BLOCK=block,
    )
    return out, scale
