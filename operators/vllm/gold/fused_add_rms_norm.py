import triton
import triton.language as tl


@triton.jit
def fused_add_rms_norm_kernel(x, residual, weight, hidden, stride, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < hidden
    place = x + row * stride + columns
    kept = residual + row * hidden + columns
    raw = tl.load(place, mask=mask, other=0.0)
    total = (raw.to(tl.float32) + tl.load(kept, mask=mask, other=0.0).to(tl.float32)).to(raw.dtype)
    tl.store(kept, total, mask=mask)
    value = total.to(tl.float32)
    mean = tl.sum(value * value, axis=0) / hidden
    scaled = (value * tl.rsqrt(mean + epsilon)).to(raw.dtype)
    w = tl.load(weight + columns, mask=mask).to(tl.float32)
    tl.store(place, scaled * w, mask=mask)


def fused_add_rms_norm(input, residual, weight, epsilon):
    hidden = input.shape[-1]
    if input.numel() == 0:
        return
    block = triton.next_power_of_2(hidden)
    fused_add_rms_norm_kernel[(input.numel() // hidden,)](
        input,
        residual,
        weight,
        hidden,
        input.stride(-2),
        epsilon,
        BLOCK=block,
        num_warps=4 if block <= 2048 else (8 if block <= 8192 else 16),
    )
