"""Conversion: the tensor itself where nothing has to be done, else a copy by one kernel over any strides."""

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


def launch(dst, src, negate):
    sizes, src_strides, dst_strides = runs(dst, src)
    n = math.prod(sizes)
    copy_kernel[(triton.cdiv(n, BLOCK_SIZE),)](
        src, dst, n, sizes, src_strides, dst_strides, OUTER=len(sizes) - 1, NEGATE=negate, BLOCK=BLOCK_SIZE,
        num_warps=4,
    )  # fmt: skip


def parts(x):
    """The parts of a complex tensor, as views of its plain memory."""
    pairs = torch.view_as_real(x.conj() if x.is_conj() else x)
    return pairs.select(-1, 0), pairs.select(-1, 1)


def copy(dst, src):
    """dst becomes src, which has its shape, converted to its dtype."""
    if dst.numel() == 0:
        return dst
    if not dst.is_complex():
        if src.is_complex():
            launch(dst, parts(src)[0], False)
        else:
            launch(dst, src, src.is_neg())
        return dst
    real, imaginary = parts(dst)
    if src.is_complex():
        launch(real, parts(src)[0], False)
        launch(imaginary, parts(src)[1], src.is_conj() != dst.is_conj())
    else:
        launch(real, src, src.is_neg())
        imaginary.zero_()
    return dst


def suggested(x):
    """The memory format in which x lies."""
    if x.is_contiguous():
        return torch.contiguous_format
    for rank, memory_format in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        if x.dim() == rank and x.is_contiguous(memory_format=memory_format):
            return memory_format
    return torch.contiguous_format


def converted(x, dtype, always, memory_format):
    memory_format = memory_format or torch.preserve_format
    laid = memory_format == torch.preserve_format or memory_format == suggested(x)
    if x.dtype == dtype and laid and not always:
        return x
    return copy(torch.empty_like(x, dtype=dtype, memory_format=memory_format), x)


def to_device(self, device, dtype, non_blocking=False, copy=False, memory_format=None):
    return converted(self, dtype, copy, memory_format)


def to_dtype(self, dtype, non_blocking=False, copy=False, memory_format=None):
    return converted(self, dtype, copy, memory_format)


def to_other(self, other, non_blocking=False, copy=False, memory_format=None):
    return converted(self, other.dtype, copy, memory_format)


def to_dtype_layout(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, copy=False, memory_format=None
):
    return converted(self, self.dtype if dtype is None else dtype, copy, memory_format)
