"""A softmax of your own: `kgb verify aten/softmax examples/my_softmax.py`.

Two functions, because the operator is asked for in two variants: `softmax.int` returns a new tensor, `softmax.int_out`
writes into one that it is given. `kgb show aten/softmax` lists them.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax(src, dst, rows, n, inner, WIDE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A few rows a program. A row's elements stand `inner` apart; the row may be longer than a block."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    start = ((row // inner) * n * inner + row % inner)[:, None]
    here = (row < rows)[:, None]
    offs = tl.arange(0, BLOCK)[None, :]

    peak = tl.full((ROWS, 1), float("-inf"), WIDE)
    for at in range(0, n, BLOCK):
        keep = here & (at + offs < n)
        x = tl.load(src + start + (at + offs) * inner, mask=keep, other=float("-inf")).to(WIDE)
        peak = tl.maximum(peak, tl.max(x, axis=1, keep_dims=True))

    whole = tl.zeros((ROWS, 1), WIDE)
    for at in range(0, n, BLOCK):
        keep = here & (at + offs < n)
        x = tl.load(src + start + (at + offs) * inner, mask=keep, other=float("-inf")).to(WIDE)
        whole += tl.sum(tl.where(keep, tl.exp(x - peak), 0.0), axis=1, keep_dims=True)

    for at in range(0, n, BLOCK):
        keep = here & (at + offs < n)
        x = tl.load(src + start + (at + offs) * inner, mask=keep, other=float("-inf")).to(WIDE)
        tl.store(dst + start + (at + offs) * inner, tl.exp(x - peak) / whole, mask=keep)


def softmax_int(self, dim, dtype=None):
    axes = max(self.dim(), 1)
    if not -axes <= dim < axes:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-axes}, {axes - 1}], but got {dim})")
    x = self.contiguous() if dtype is None else self.to(dtype).contiguous()
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    shape = x.shape if x.dim() > 0 else (1,)
    n, inner = shape[dim % axes], 1
    for size in shape[dim % axes + 1 :]:
        inner *= size
    wide = tl.float64 if x.dtype == torch.float64 else tl.float32
    rows, block = x.numel() // n, min(1024, triton.next_power_of_2(n))
    at_once = min(triton.next_power_of_2(rows), max(1, 2048 // block))
    _softmax[(triton.cdiv(rows, at_once),)](x, out, rows, n, inner, WIDE=wide, ROWS=at_once, BLOCK=block)
    return out


def softmax_int_out(self, dim, dtype=None, *, out):
    wanted = self.dtype if dtype is None else dtype
    if out.dtype != wanted:
        raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {out.dtype} instead")
    result = softmax_int(self, dim, dtype)
    if out.shape != result.shape:
        out.resize_(result.shape)
    out.copy_(result)
    return out
