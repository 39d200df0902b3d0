"""Norms of slices and their scaling in one kernel: a tile of slices runs over the elements twice."""

import torch
import triton
import triton.language as tl

KIND_OF = {1.0: 0, 2.0: 1, float("inf"): 2}
ROWS, COLUMNS, MIDDLE = range(3)


@triton.jit
def renorm_kernel(
    x_ptr,
    out_ptr,
    n,
    inner,
    count,
    p,
    maxnorm,
    IN_MEMORY: tl.constexpr,
    KIND: tl.constexpr,
    PLACE: tl.constexpr,
    REAL: tl.constexpr,
    BLOCK_I: tl.constexpr,
    BLOCK_E: tl.constexpr,
):
    """Slices i of (outer, n, inner), each of `count` = outer * inner elements.

    PLACE 0: outer is 1; PLACE 1: inner is 1; PLACE 2: neither.
    """
    if IN_MEMORY:
        p = tl.load(p)
        maxnorm = tl.load(maxnorm)
    i = (tl.program_id(0) * BLOCK_I + tl.arange(0, BLOCK_I)).to(tl.int64)[:, None]
    total = tl.zeros((BLOCK_I, BLOCK_E), dtype=REAL)
    for start in range(0, count, BLOCK_E):
        e = (start + tl.arange(0, BLOCK_E)).to(tl.int64)[None, :]
        mask = (i < n) & (e < count)
        if PLACE == 0:
            offsets = i * inner + e
        elif PLACE == 1:
            offsets = e * n + i
        else:
            offsets = (e // inner * n + i) * inner + e % inner
        x = tl.abs(tl.load(x_ptr + offsets, mask=mask, other=0.0).to(REAL))
        if KIND == 0:
            total += x
        elif KIND == 1:
            total += x * x
        elif KIND == 2:
            total = tl.where((x > total) | (x != x), x, total)
        else:
            total += tl.exp2(p * tl.log2(x))
    if KIND == 0:
        norm = tl.sum(total, axis=1)
    elif KIND == 1:
        norm = tl.sqrt(tl.sum(total, axis=1))
    elif KIND == 2:
        norm = tl.where(tl.max((total != total).to(tl.int32), axis=1) > 0, float("nan"), tl.max(total, axis=1))
    else:
        norm = tl.exp2(tl.log2(tl.sum(total, axis=1)) / p)
    factor = tl.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)[:, None]
    for start in range(0, count, BLOCK_E):
        e = (start + tl.arange(0, BLOCK_E)).to(tl.int64)[None, :]
        mask = (i < n) & (e < count)
        if PLACE == 0:
            offsets = i * inner + e
        elif PLACE == 1:
            offsets = e * n + i
        else:
            offsets = (e // inner * n + i) * inner + e % inner
        x = tl.load(x_ptr + offsets, mask=mask).to(REAL)
        tl.store(out_ptr + offsets, (x * factor).to(out_ptr.dtype.element_ty), mask=mask)


def product(sizes):
    total = 1
    for size in sizes:
        total = total * size
    return total


def launch(x, p, dim, maxnorm, out):
    """Write x, which is contiguous like out, with its slices along dim scaled."""
    if out.numel() == 0:
        return
    outer, n, inner = product(x.shape[:dim]), x.shape[dim], product(x.shape[dim + 1 :])
    count = outer * inner
    place = ROWS if outer == 1 else COLUMNS if inner == 1 else MIDDLE
    most = 64 if place == COLUMNS else 1024
    block_e = min(triton.next_power_of_2(count), most)
    block_i = max(1, min(triton.next_power_of_2(n), 2048 // block_e, 64))
    double = x.dtype == torch.float64
    renorm_kernel[(triton.cdiv(n, block_i),)](
        x,
        out,
        n,
        inner,
        count,
        torch.full((1,), p, dtype=x.dtype, device=x.device) if double else p,
        torch.full((1,), maxnorm, dtype=x.dtype, device=x.device) if double else maxnorm,
        IN_MEMORY=double,
        KIND=KIND_OF.get(p, 3),
        PLACE=place,
        REAL=tl.float64 if double else tl.float32,
        BLOCK_I=block_i,
        BLOCK_E=block_e,
        num_warps=4,
    )


def prepare(self, p, dim, maxnorm):
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    rank = self.dim()
    if rank < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank} dimensions")
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return self.contiguous(), float(p), dim % rank, float(maxnorm)


def renorm(self, p, dim, maxnorm):
    arguments = prepare(self, p, dim, maxnorm)
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    launch(*arguments, out)
    return out


def renorm_out(self, p, dim, maxnorm, *, out):
    arguments = prepare(self, p, dim, maxnorm)
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != self.shape:
        out.resize_(self.shape)
    if out.is_contiguous():
        launch(*arguments, out)
    else:
        dense = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        launch(*arguments, dense)
        out.copy_(dense)
    return out
