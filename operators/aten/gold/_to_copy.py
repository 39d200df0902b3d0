"""A converted copy: one kernel over any strides; flat where both sides are dense."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def copy_kernel(
    src_ptr, dst_ptr, n, sizes, src_strides, dst_strides, OUTER: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    src = tl.zeros((BLOCK,), tl.int64)
    dst = tl.zeros((BLOCK,), tl.int64)
    for d in tl.static_range(OUTER):
        at = rest % sizes[d]
        src += at * src_strides[d]
        dst += at * dst_strides[d]
        rest //= sizes[d]
    x = tl.load(src_ptr + src + rest * src_strides[OUTER], mask=mask)
    kind: tl.constexpr = dst_ptr.dtype.element_ty
    if x.dtype == tl.bfloat16:
        x = x.to(tl.float32)
    if kind == tl.int1:
        x = x != 0
    elif kind == tl.float16 or kind == tl.bfloat16:
        x = x.to(tl.float32)
    tl.store(dst_ptr + dst + rest * dst_strides[OUTER], x.to(dst_ptr.dtype.element_ty), mask=mask)


def runs(dst, src):
    """Sizes and both tensors' strides, innermost first: neighbours joined where both lie side by side; never empty."""
    dims = sorted((d, s, n) for n, d, s in zip(dst.shape, dst.stride(), src.stride(), strict=True) if n > 1)
    found = []
    for d, s, n in dims:
        if found and d == found[-1][0] * found[-1][2] and s == found[-1][1] * found[-1][2]:
            found[-1][2] *= n
        else:
            found.append([d, s, n])
    dst_strides, src_strides, sizes = zip(*(found or [[1, 1, 1]]), strict=True)
    return sizes, src_strides, dst_strides


def launch(dst, src):
    sizes, src_strides, dst_strides = runs(dst, src)
    n = math.prod(sizes)
    copy_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        src, dst, n, sizes, src_strides, dst_strides, OUTER=len(sizes) - 1, BLOCK=BLOCK_SIZE,
        num_warps=4,
    )  # fmt: skip


def copy(dst, src):
    """dst becomes src, which has its shape, converted to its dtype."""
    if dst.numel() == 0:
        return dst
    if not dst.is_complex():
        launch(dst, torch.view_as_real(src).select(-1, 0) if src.is_complex() else src)
        return dst
    parts = torch.view_as_real(dst)
    if src.is_complex():
        launch(parts, torch.view_as_real(src))
    else:
        launch(parts.select(-1, 0), src)
        parts.select(-1, 1).zero_()
    return dst


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    memory_format = memory_format or torch.preserve_format
    return copy(torch.empty_like(self, dtype=dtype, memory_format=memory_format), self)


def _to_copy_out(self, *, non_blocking=False, memory_format=None, out):
    if out.shape != self.shape:
        out.resize_(self.shape)
    return copy(out, self)
