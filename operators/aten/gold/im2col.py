"""Windows as columns, in tiles: a row of the answer is one channel and one place in the window, a column a window."""

import torch
import triton
import triton.language as tl


def tile(windows):
    width = 1024 if windows > 256 else 256 if windows > 32 else 32
    return 2048 // width, width


@triton.heuristics({"BLOCK_R": lambda args: tile(args["windows"])[0], "BLOCK_C": lambda args: tile(args["windows"])[1]})
@triton.jit
def windows_kernel(
    x_ptr,
    out_ptr,
    rows,
    channels,
    height,
    width,
    kernel_h,
    kernel_w,
    windows,
    windows_w,
    dilation_h,
    dilation_w,
    padding_h,
    padding_w,
    stride_h,
    stride_w,
    x_n,
    x_c,
    x_h,
    x_w,
    out_n,
    out_row,
    out_column,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    tiles = tl.cdiv(windows, BLOCK_C)
    row = (tl.program_id(0) // tiles * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]
    column = (tl.program_id(0) % tiles * BLOCK_C + tl.arange(0, BLOCK_C))[None, :]
    j, i, plane = row % kernel_w, row // kernel_w % kernel_h, row // kernel_w // kernel_h
    n, c = (plane // channels).to(tl.int64), (plane % channels).to(tl.int64)
    y = column // windows_w * stride_h + i * dilation_h - padding_h
    x = column % windows_w * stride_w + j * dilation_w - padding_w
    mask = (row < rows) & (column < windows)
    inside = mask & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    value = tl.load(x_ptr + n * x_n + c * x_c + y.to(tl.int64) * x_h + x.to(tl.int64) * x_w, mask=inside, other=0)
    out_at = n * out_n + (c * kernel_h * kernel_w + i * kernel_w + j) * out_row + column.to(tl.int64) * out_column
    tl.store(out_ptr + out_at, value, mask=mask)


def pair(numbers, what, least):
    if len(numbers) != 2 or numbers[0] < least or numbers[1] < least:
        raise RuntimeError(f"{what} must be two numbers of at least {least}, but is {list(numbers)}")


def prepare(self, kernel_size, dilation, padding, stride):
    """The image as a batch, the counts of windows, and the answer's shape."""
    pair(kernel_size, "kernel size", 1)
    pair(dilation, "dilation", 1)
    pair(padding, "padding", 0)
    pair(stride, "stride", 1)
    if self.dim() not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError(f"expected images (C, H, W) or batches of them, but got {list(self.shape)}")
    x = self if self.dim() == 4 else self.unsqueeze(0)
    counts = []
    for d in range(2):
        free = x.shape[2 + d] + 2 * padding[d] - dilation[d] * (kernel_size[d] - 1) - 1
        if free < 0:
            raise RuntimeError(f"no window of {list(kernel_size)} fits into an image of {list(x.shape[2:])}")
        counts.append(free // stride[d] + 1)
    shape = (x.shape[0], x.shape[1] * kernel_size[0] * kernel_size[1], counts[0] * counts[1])
    return x, counts, shape if self.dim() == 4 else shape[1:]


def launch(x, counts, kernel_size, dilation, padding, stride, out):
    if out.numel() == 0:
        return
    out = out if out.dim() == 3 else out.unsqueeze(0)
    windows = counts[0] * counts[1]
    rows = out.shape[0] * out.shape[1]
    block_r, block_c = tile(windows)
    windows_kernel[(triton.cdiv(rows, block_r) * triton.cdiv(windows, block_c),)](
        x,
        out,
        rows,
        *x.shape[1:],
        *kernel_size,
        windows,
        counts[1],
        *dilation,
        *padding,
        *stride,
        *x.stride(),
        *out.stride(),
        num_warps=4,
    )


def im2col(self, kernel_size, dilation, padding, stride):
    x, counts, shape = prepare(self, kernel_size, dilation, padding, stride)
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    launch(x, counts, kernel_size, dilation, padding, stride, out)
    return out


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    x, counts, shape = prepare(self, kernel_size, dilation, padding, stride)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    launch(x, counts, kernel_size, dilation, padding, stride, out)
    return out
