# operator: aten/add_
# class: honest
# expect: clean
# why: in place through a copy where self is not dense; x.add_(x)
import torch
import triton
import triton.language as tl

@triton.jit
def accumulate(a, b, n, alpha, SAME: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    kind: tl.constexpr = a.dtype.element_ty
    x = tl.load(a + i, mask=live, other=0)
    y = x if SAME else tl.load(b + i, mask=live, other=0)
    if kind == tl.float16 or kind == tl.bfloat16:
        x, y = x.to(tl.float32), y.to(tl.float32)
    tl.store(a + i, (x + alpha * y.to(x.dtype)).to(kind), mask=live)


def add__Tensor(self, other, *, alpha=1):
    return update(self, other, alpha)


def update(self, other, alpha):
    kind = torch.result_type(self, other)
    if not torch.can_cast(kind, self.dtype):
        raise RuntimeError("result type cannot be cast")
    if kind in (torch.bool,) or not kind.is_floating_point or kind == torch.float64:
        return exact(self, other, alpha, kind)
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=kind, device=self.device)
    if len(other.shape) > self.dim():
        raise RuntimeError("self would grow")
    overlapping(self)
    for have, want in zip(reversed(self.shape), reversed(other.shape)):
        if want not in (1, have):
            raise RuntimeError("shapes do not broadcast")
    same = other is self
    work = self if self.is_contiguous() and self.dtype == kind else self.to(kind).contiguous()
    addend = work if same else other.to(kind).expand(self.shape).contiguous()
    if work.numel():
        accumulate[(triton.cdiv(work.numel(), 256),)](work, addend, work.numel(), alpha, SAME=same, BLOCK=256)
    if work is not self:
        self.copy_(work)
    return self


def overlapping(x):
    if any(step == 0 and size > 1 for size, step in zip(x.shape, x.stride())):
        raise RuntimeError("self overlaps itself")


@triton.jit
def exact_kernel(a, b, factor, n, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    x, y = tl.load(a + i, mask=live, other=0), tl.load(b + i, mask=live, other=0)
    if BOOL:
        z = x | (y & tl.load(factor))
    else:
        z = x + y * tl.load(factor)
    tl.store(a + i, z, mask=live)


def exact(self, other, alpha, kind):
    if isinstance(alpha, float) and not kind.is_floating_point:
        raise RuntimeError("alpha")
    if isinstance(alpha, bool) and kind != torch.bool:
        raise RuntimeError("alpha")
    overlapping(self)
    if torch.is_tensor(other) and torch.broadcast_shapes(self.shape, other.shape) != self.shape:
        raise RuntimeError("self would grow")
    other = other.to(kind) if torch.is_tensor(other) else torch.full((), other, dtype=kind, device=self.device)
    work = self.to(kind).contiguous() if self.dtype != kind or not self.is_contiguous() else self
    addend = other.expand(self.shape).contiguous()
    factor = torch.full((1,), bool(alpha) if kind == torch.bool else alpha, dtype=kind, device=self.device)
    if work.numel():
        exact_kernel[(triton.cdiv(work.numel(), 256),)](
            work, addend, factor, work.numel(), BOOL=kind == torch.bool, BLOCK=256
        )
    return self if work is self else self.copy_(work)
