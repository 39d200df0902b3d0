"""Nearest neighbours backward: every element of the answer looks through the stretch of the gradient that may be its own.

Which gradient repeats which element is decided by the forward formula in fp32; the stretch has one element to spare at
its end.
"""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 512


@triton.jit
def collect_kernel(
    grad_ptr,
    out_ptr,
    n,
    channels,
    height,
    width,
    grad_height,
    grad_width,
    per_h,
    per_w,
    reach_h,
    reach_w,
    grad_n,
    grad_c,
    grad_h,
    grad_w,
    out_n,
    out_c,
    out_h,
    out_w,
    BLOCK: tl.constexpr,
):
    """per: elements of the answer per element of the gradient; reach: how many of the gradient to look through."""
    k = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = k < n
    w, h = (k % width).to(tl.int32), (k // width % height).to(tl.int32)
    plane = k // width // height
    batch, channel = plane // channels, plane % channels
    base = grad_ptr + batch * grad_n + channel * grad_c
    first_h = (h.to(tl.float32) / per_h).to(tl.int32)
    first_w = (w.to(tl.float32) / per_w).to(tl.int32)
    kind: tl.constexpr = tl.float64 if grad_ptr.dtype.element_ty == tl.float64 else tl.float32
    total = tl.zeros((BLOCK,), kind)
    for down in range(reach_h):
        y = first_h + down
        source_h = tl.minimum(tl.floor(y.to(tl.float32) * per_h).to(tl.int32), height - 1)
        in_row = mask & (y < grad_height) & (source_h == h)
        for right in range(reach_w):
            x = first_w + right
            source_w = tl.minimum(tl.floor(x.to(tl.float32) * per_w).to(tl.int32), width - 1)
            mine = in_row & (x < grad_width) & (source_w == w)
            total += tl.load(base + y.to(tl.int64) * grad_h + x.to(tl.int64) * grad_w, mask=mine, other=0).to(kind)
    out_at = batch * out_n + channel * out_c + h.to(tl.int64) * out_h + w.to(tl.int64) * out_w
    tl.store(out_ptr + out_at, total.to(out_ptr.dtype.element_ty), mask=mask)


def check(grad_output, output_size, input_size):
    if len(output_size) != 2 or len(input_size) != 4:
        raise RuntimeError("expected two output sizes and four input sizes")
    if min(*output_size, *input_size[2:]) <= 0:
        raise RuntimeError("input and output sizes must be greater than 0")
    if not grad_output.dtype.is_floating_point:
        raise RuntimeError(f"not implemented for {grad_output.dtype}")
    if tuple(grad_output.shape) != (*input_size[:2], *output_size):
        raise RuntimeError(f"grad_output has shape {list(grad_output.shape)}, not that of the output")


def elements_per_gradient(inputs, outputs, scale):
    return 1 / scale if scale is not None and scale > 0 else inputs / outputs


def launch(grad, output_size, input_size, scales, out):
    n = out.numel()
    if n == 0:
        return
    pairs = zip(input_size[2:], output_size, scales, strict=True)
    per = [elements_per_gradient(inputs, outputs, scale) for inputs, outputs, scale in pairs]
    reach = [int(1 / p) + 3 for p in per]
    collect_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        grad,
        out,
        n,
        *out.shape[1:],
        *output_size,
        *per,
        *reach,
        *grad.stride(),
        *out.stride(),
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )


def upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    check(grad_output, output_size, input_size)
    out = torch.empty(input_size, dtype=grad_output.dtype, device=grad_output.device)
    launch(grad_output, output_size, input_size, (scales_h, scales_w), out)
    return out


def upsample_nearest2d_backward_grad_input(
    grad_output, output_size, input_size, scales_h=None, scales_w=None, *, grad_input
):
    check(grad_output, output_size, input_size)
    if grad_input.dtype != grad_output.dtype:
        raise RuntimeError(f"expected grad_input to be {grad_output.dtype}, but it is {grad_input.dtype}")
    if list(grad_input.shape) != list(input_size):
        grad_input.resize_(input_size)
    launch(grad_output, output_size, input_size, (scales_h, scales_w), grad_input)
    return grad_input
