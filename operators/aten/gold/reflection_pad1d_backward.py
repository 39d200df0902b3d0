"""Reflection backward: every element of the answer adds the up to three elements that were copied from it."""

import torch
import triton
import triton.language as tl


def tile(width):
    block = min(max(16, triton.next_power_of_2(width)), 1024)
    return 1024 // block, block


@triton.heuristics({"BLOCK_R": lambda args: tile(args["width"])[0], "BLOCK_W": lambda args: tile(args["width"])[1]})
@triton.jit
def collect_kernel(
    grad_ptr,
    out_ptr,
    rows,
    channels,
    width,
    left,
    right,
    grad_n,
    grad_c,
    grad_w,
    out_n,
    out_c,
    out_w,
    BLOCK_R: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    tiles = tl.cdiv(width, BLOCK_W)
    r = (tl.program_id(0) // tiles).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    w = (tl.program_id(0) % tiles).to(tl.int64) * BLOCK_W + tl.arange(0, BLOCK_W)
    n, c = r // channels, r % channels
    row = grad_ptr + (n * grad_n + c * grad_c)[:, None]
    mask = (r < rows)[:, None] & (w < width)[None, :]
    kind: tl.constexpr = tl.float64 if grad_ptr.dtype.element_ty == tl.float64 else tl.float32
    total = tl.load(row + ((left + w) * grad_w)[None, :], mask=mask).to(kind)
    in_left = mask & ((w > 0) & (w <= left))[None, :]
    total += tl.load(row + ((left - w) * grad_w)[None, :], mask=in_left, other=0)
    back = width - 1 - w
    in_right = mask & ((back > 0) & (back <= right))[None, :]
    total += tl.load(row + ((left + width - 1 + back) * grad_w)[None, :], mask=in_right, other=0)
    out_at = (n * out_n + c * out_c)[:, None] + (w * out_w)[None, :]
    tl.store(out_ptr + out_at, total.to(out_ptr.dtype.element_ty), mask=mask)


def check(grad_output, self, padding):
    if self.dim() not in (2, 3) or len(padding) != 2:
        raise RuntimeError("expected (C, W) or (N, C, W), padded at two ends")
    if not grad_output.dtype.is_floating_point or grad_output.dtype != self.dtype:
        raise RuntimeError(f"expected one floating-point type, but got {grad_output.dtype} and {self.dtype}")
    width = self.shape[-1]
    if padding[0] >= width or padding[1] >= width:
        raise RuntimeError(f"padding {list(padding)} must be less than the width {width}")
    if grad_output.shape[-1] != width + padding[0] + padding[1]:
        raise RuntimeError(f"unexpected width of the gradient: {grad_output.shape[-1]}")


def launch(grad, padding, out):
    if out.numel() == 0:
        return
    grad = grad if grad.dim() == 3 else grad.unsqueeze(0)
    out = out if out.dim() == 3 else out.unsqueeze(0)
    batch, channels, width = out.shape
    rows = batch * channels
    block_r, block_w = tile(width)
    collect_kernel[(triton.cdiv(rows, block_r) * triton.cdiv(width, block_w),)](
        grad, out, rows, channels, width, *padding, *grad.stride(), *out.stride(), num_warps=4
    )


def reflection_pad1d_backward(grad_output, self, padding):
    check(grad_output, self, padding)
    out = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    launch(grad_output, padding, out)
    return out


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    check(grad_output, self, padding)
    if grad_input.dtype != grad_output.dtype:
        raise RuntimeError(f"expected grad_input to be {grad_output.dtype}, but it is {grad_input.dtype}")
    if grad_input.shape != self.shape:
        grad_input.resize_(self.shape)
    launch(grad_output, padding, grad_input)
    return grad_input
