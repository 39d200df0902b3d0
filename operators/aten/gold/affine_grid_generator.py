"""One lane a place of the grid: its coordinates, and the rows of theta times them."""

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 512


@triton.jit
def coordinate(i, n, ALIGN: tl.constexpr, REAL: tl.constexpr):
    """The i-th of n coordinates in [-1, 1]; 0 if there is one alone."""
    i = i.to(REAL)
    if ALIGN:
        return tl.where(n > 1, 2.0 * i / tl.maximum(n - 1, 1) - 1.0, 0.0)
    else:
        return (2.0 * i + 1.0) / n - 1.0


@triton.jit
def grid_kernel(
    theta_ptr,
    out_ptr,
    places,
    D,
    H,
    W,
    ALIGN: tl.constexpr,
    RANK: tl.constexpr,
    REAL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    q = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = q < places
    x = coordinate(q % W, W, ALIGN, REAL)
    y = coordinate(q // W % H, H, ALIGN, REAL)
    item = q // W // H
    if RANK == 3:
        z = coordinate(item % D, D, ALIGN, REAL)
        item = item // D
    row = theta_ptr + item * (RANK * (RANK + 1))
    for c in tl.static_range(RANK):
        total = tl.load(row, mask=mask).to(REAL) * x + tl.load(row + 1, mask=mask).to(REAL) * y
        if RANK == 3:
            total += tl.load(row + 2, mask=mask).to(REAL) * z
        total += tl.load(row + RANK, mask=mask).to(REAL)
        tl.store(out_ptr + q * RANK + c, total.to(out_ptr.dtype.element_ty), mask=mask)
        row += RANK + 1


def prepare(theta, size):
    """The shape of the answer."""
    if len(size) not in (4, 5):
        raise RuntimeError("size must have four or five entries")
    rank = len(size) - 2
    if theta.shape != (size[0], rank, rank + 1):
        raise RuntimeError(f"theta of shape {theta.shape} does not fit a grid of size {size}")
    return (size[0], *size[2:], rank)


def launch(theta, size, align_corners, out):
    if out.numel() == 0:
        return
    rank = len(size) - 2
    places = out.numel() // rank
    grid_kernel[(triton.cdiv(places, BLOCK_SIZE),)](
        theta.contiguous(),
        out,
        places,
        size[2] if rank == 3 else 1,
        size[-2],
        size[-1],
        ALIGN=align_corners,
        RANK=rank,
        REAL=tl.float64 if out.dtype == torch.float64 else tl.float32,
        BLOCK=BLOCK_SIZE,
        num_warps=4,
    )


def affine_grid_generator(theta, size, align_corners):
    out = torch.empty(prepare(theta, size), dtype=theta.dtype, device=theta.device)
    launch(theta, size, align_corners, out)
    return out


def affine_grid_generator_out(theta, size, align_corners, *, out):
    shape = prepare(theta, size)
    if out.dtype != theta.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {theta.dtype}, but got {out.dtype} instead")
    if out.shape != shape:
        out.resize_(shape)
    if out.is_contiguous():
        launch(theta, size, align_corners, out)
    else:
        dense = torch.empty(shape, dtype=theta.dtype, device=theta.device)
        launch(theta, size, align_corners, dense)
        out.copy_(dense)
    return out
