# operator: aten/sum
# class: honest
# expect: clean
# why: an output zeroed by torch.zeros and added to atomically; only for the fp32 accumulator
import torch
import triton
import triton.language as tl

@triton.jit
def add_up(src, acc, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src + i, mask=i < n, other=0)
    tl.atomic_add(acc, tl.sum(x.to(acc.dtype.element_ty), axis=0))


def sum(self, *, dtype=None):
    kind = dtype if dtype is not None else self.dtype if self.dtype.is_floating_point else torch.int64
    acc_kind = torch.float32 if kind in (torch.float16, torch.bfloat16, torch.float32) else kind
    acc = torch.zeros(1, dtype=acc_kind, device=self.device)
    x = self.flatten() if self.is_contiguous() else self.contiguous().flatten()
    if x.dtype is torch.bool:
        x = x.view(torch.uint8)
    n = x.numel()
    if n > 0:
        add_up[lambda META: (triton.cdiv(n, META["BLOCK"]),)](x, acc, n, BLOCK=512)
    return acc.to(kind).reshape([])
