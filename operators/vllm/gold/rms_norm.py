import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(
    out,
    x,
    weight,
    hidden,
    size1,
    size2,
    stride0,
    stride1,
    stride2,
    epsilon,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    inner = row % size2
    middle = (row // size2) % size1
    outer = row // size2 // size1
    source = x + outer * stride0 + middle * stride1 + inner * stride2
    columns = tl.arange(0, BLOCK)
    mask = columns < hidden
    raw = tl.load(source + columns, mask=mask, other=0.0)
    w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    value = raw.to(tl.float32)
    mean = tl.sum(value * value, axis=0) / hidden
    scaled = (value * tl.rsqrt(mean + epsilon)).to(raw.dtype)
    result = scaled.to(tl.float32) * w
    tl.store(out + row * hidden + columns, result.to(raw.dtype), mask=mask)


def rms_norm(out, input, weight, epsilon):
    hidden = input.shape[-1]
    sizes = [1, 1, 1] + list(input.shape[:-1])
    strides = [0, 0, 0] + list(input.stride()[:-1])
    size0, size1, size2 = sizes[-3:]
    stride0, stride1, stride2 = strides[-3:]
    rows = size0 * size1 * size2
    if rows == 0 or hidden == 0:
        return
    block = triton.next_power_of_2(hidden)
    num_warps = 4 if block <= 2048 else (8 if block <= 8192 else 16)
    rms_norm_kernel[(rows,)](
        out,
        input,
        weight,
        hidden,
        size1,
        size2,
        stride0,
        stride1,
        stride2,
        epsilon,
        BLOCK=block,
        num_warps=num_warps,
    )
