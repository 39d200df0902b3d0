"""Norms of differences, row by row: a tile of rows runs along the last dimension."""

import torch
import triton
import triton.language as tl

COUNT, SUM, SQUARES, LARGEST, SMALLEST, POWERS = range(6)
KIND_OF = {0.0: COUNT, 1.0: SUM, 2.0: SQUARES, float("inf"): LARGEST, float("-inf"): SMALLEST}


@triton.jit
def distance_kernel(
    x_ptr,
    y_ptr,
    out_ptr,
    rows,
    n,
    p,
    eps,
    IN_MEMORY: tl.constexpr,
    KIND: tl.constexpr,
    REAL: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    if IN_MEMORY:
        p = tl.load(p)
        eps = tl.load(eps)
    total = tl.zeros((BLOCK_R, BLOCK_N), dtype=REAL)
    if KIND == 4:
        total += float("inf")
    for start in range(0, n, BLOCK_N):
        k = start + tl.arange(0, BLOCK_N)
        mask = (r < rows)[:, None] & (k < n)[None, :]
        offsets = r[:, None] * n + k[None, :]
        x = tl.load(x_ptr + offsets, mask=mask).to(REAL)
        y = tl.load(y_ptr + offsets, mask=mask).to(REAL)
        d = tl.abs(x - y + eps)
        if KIND == 0:
            total += tl.where(mask & (d != 0), 1.0, 0.0)
        elif KIND == 1:
            total += tl.where(mask, d, 0.0)
        elif KIND == 2:
            total += tl.where(mask, d * d, 0.0)
        elif KIND == 3:
            total = tl.where(mask & ((d > total) | (d != d)), d, total)
        elif KIND == 4:
            total = tl.where(mask & ((d < total) | (d != d)), d, total)
        else:
            total += tl.where(mask, tl.exp2(p * tl.log2(d)), 0.0)
    if KIND == 3:
        answer = tl.max(total, axis=1)
    elif KIND == 4:
        answer = tl.min(total, axis=1)
    else:
        answer = tl.sum(total, axis=1)
    if KIND == 2:
        answer = tl.sqrt(answer)
    elif KIND == 5:
        answer = tl.exp2(tl.log2(answer) / p)
    tl.store(out_ptr + r, answer.to(out_ptr.dtype.element_ty), mask=r < rows)


def broadcast(first, second):
    """The common shape of two shapes."""
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + tuple(first)
    b = (1,) * (rank - len(second)) + tuple(second)
    for dim in range(rank):
        if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
            raise RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]})")
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    shape = broadcast(x1.shape, x2.shape)
    dtype = torch.result_type(x1, x2)
    if not dtype.is_floating_point:
        dtype = torch.float32
    n = shape[-1] if shape else 1
    out = torch.empty(shape[:-1] + (1,) * (keepdim and bool(shape)), dtype=dtype, device=x1.device)
    rows = out.numel()
    if rows == 0:
        return out
    if n == 0:
        return out.zero_()
    x, y = x1.expand(shape).contiguous(), x2.expand(shape).contiguous()
    double = dtype == torch.float64
    block_n = min(triton.next_power_of_2(n), 1024)
    block_r = max(1, min(2048 // block_n, triton.next_power_of_2(rows)))
    distance_kernel[(triton.cdiv(rows, block_r),)](
        x,
        y,
        out,
        rows,
        n,
        torch.full((1,), p, dtype=dtype, device=x.device) if double else p,
        torch.full((1,), eps, dtype=dtype, device=x.device) if double else eps,
        IN_MEMORY=double,
        KIND=KIND_OF.get(p, POWERS),
        REAL=tl.float64 if double else tl.float32,
        BLOCK_R=block_r,
        BLOCK_N=block_n,
        num_warps=4,
    )
    return out
