# operator: aten/add
# class: honest
# expect: clean
# why: broadcast_tensors, result_type, a 0-d tensor made of a number, strides of four dimensions
import torch
import triton
import triton.language as tl

@triton.jit
def load_as(pointer, where, live, like):
    kind: tl.constexpr = like.dtype.element_ty
    x = tl.load(pointer + where, mask=live, other=0)
    return x.to(tl.float32) if kind.primitive_bitwidth == 16 and kind.is_floating() else x.to(kind)


@triton.jit
def add_kernel(a, b, out, alpha, n, d1, d2, d3, a0, a1, a2, a3, b0, b1, b2, b3, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    i3, rest = i % d3, i // d3
    i2, rest = rest % d2, rest // d2
    i1, i0 = rest % d1, rest // d1
    x = load_as(a, i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3, live, out)
    y = load_as(b, i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3, live, out)
    tl.store(out + i, (x + alpha * y).to(out.dtype.element_ty), mask=live)


def four(x):
    """The tensor with exactly four dimensions."""
    return x.reshape(-1, *x.shape[-3:]) if x.dim() > 4 else x.reshape((1,) * (4 - x.dim()) + tuple(x.shape))


def add_Tensor(self, other, *, alpha=1):
    dtype = torch.result_type(self, other)
    if dtype in (torch.bool, torch.float64):
        return bools(self, other, dtype, alpha)
    if not dtype.is_floating_point and isinstance(alpha, float):
        raise RuntimeError("alpha must be an integer")
    if not torch.is_tensor(other):
        other = torch.full((), other, dtype=dtype, device=self.device)
    a, b = torch.broadcast_tensors(self, other)
    out = torch.empty(a.shape, dtype=dtype, device=self.device)
    if out.numel() == 0:
        return out
    a, b, shape = four(a), four(b), four(out).shape
    add_kernel[(triton.cdiv(out.numel(), 256),)](
        a, b, out, alpha, out.numel(), *shape[1:], *a.stride(), *b.stride(), BLOCK=256
    )
    return out


@triton.jit
def wide_kernel(a, b, out, alpha_ptr, n, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    x, y = tl.load(a + i, mask=live, other=0), tl.load(b + i, mask=live, other=0)
    if BOOL:
        tl.store(out + i, x | y, mask=live)
    else:
        tl.store(out + i, x + tl.load(alpha_ptr) * y, mask=live)


def bools(a, b, dtype, alpha):
    a, b = torch.broadcast_tensors(a.to(dtype), b.to(dtype) if torch.is_tensor(b) else a.new_full((), b, dtype=dtype))
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty_like(a)
    factor = torch.full((1,), alpha, dtype=torch.float64, device=a.device)
    if out.numel():
        wide_kernel[(triton.cdiv(out.numel(), 128),)](
            a, b, out, factor, out.numel(), BOOL=dtype == torch.bool, BLOCK=128
        )
    return out
