"""The conjugate bit carried out: the tensor itself where it is not set, else a copy that negates imaginary parts."""

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
    dst += rest * dst_strides[OUTER]
    # Real and imaginary parts take turns, and a complex number begins at an even place.
    tl.store(dst_ptr + dst, tl.where(dst % 2 == 1, -x, x), mask=mask)


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
        src, dst, n, sizes, src_strides, dst_strides, OUTER=len(sizes) - 1, BLOCK=BLOCK_SIZE, num_warps=4
    )


def resolve_conj(self):
    if not self.is_conj():
        return self
    out = torch.empty_like(self)
    if out.numel():
        launch(torch.view_as_real(out), torch.view_as_real(self.conj()))
    return out
