# operator: aten/softmax
# class: honest
# expect: clean
# why: @triton.autotune with a key and several configurations, typed signature, docstring
from typing import Optional

import torch
import triton
import triton.language as tl

@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=4),
        triton.Config({"ROWS": 2}, num_warps=4, num_stages=2),
        triton.Config({"ROWS": 4}, num_warps=8),
    ],
    key=["cols"],
)
@triton.jit
def softmax_rows(src, dst, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(src + r[:, None] * cols + c[None, :], mask=live, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=1, keep_dims=True)
    e = tl.exp(x)
    y = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(dst + r[:, None] * cols + c[None, :], y.to(dst.dtype.element_ty), mask=live)


def softmax_int(self: torch.Tensor, dim: int, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """Softmax along ``dim``.

    The reduced dimension is moved to the end; rows are then independent.
    """
    x = self.to(dtype) if dtype is not None else self
    if x.ndim == 0:
        x = x.reshape(1)
        return softmax_int(x, 0).reshape(())
    if dim < -x.ndim or dim >= x.ndim:
        raise IndexError(f"Dimension out of range: {dim}")
    x = x.transpose(dim, -1).contiguous()
    y = torch.empty_like(x)
    cols = x.size(-1)
    rows = x.numel() // cols if cols else 0
    if rows > 0:
        grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)  # noqa: E731
        softmax_rows[grid](x, y, rows, cols, BLOCK=triton.next_power_of_2(cols))
    return y.transpose(dim, -1)
