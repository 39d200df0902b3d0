"""A copy: one kernel over any strides; flat where both sides are dense."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def copy_kernel(
    src_ptr, dst_ptr, n, sizes, src_strides, dst_strides, OUTER: tl.constexpr, NEGATE: tl.constexpr, BLOCK: tl.constexpr
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
    if NEGATE:
        x = -x
    tl.store(dst_ptr + dst + rest * dst_strides[OUTER], x, mask=mask)


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


def launch(dst, src, negate):
    sizes, src_strides, dst_strides = runs(dst, src)
    n = math.prod(sizes)
    copy_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        src, dst, n, sizes, src_strides, dst_strides, OUTER=len(sizes) - 1, NEGATE=negate, BLOCK=BLOCK_SIZE,
        num_warps=4,
    )  # fmt: skip


def copy(dst, src):
    """dst becomes src, which has its shape and dtype."""
    if dst.numel() == 0:
        return dst
    if not src.is_complex():
        launch(dst, src, src.is_neg())
        return dst
    to, of = torch.view_as_real(dst), torch.view_as_real(src.conj() if src.is_conj() else src)
    if src.is_conj():
        launch(to.select(-1, 0), of.select(-1, 0), False)
        launch(to.select(-1, 1), of.select(-1, 1), True)
    else:
        launch(to, of, False)
    return dst


def clone(self, *, memory_format=None):
    return copy(torch.empty_like(self, memory_format=memory_format or torch.preserve_format), self)


def clone_out(self, *, memory_format=None, out):
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {self.dtype}, but got {out.dtype} instead")
    if out.shape != self.shape:
        out.resize_(self.shape)
    return copy(out, self)
