# operator: aten/zero_
# class: honest
# expect: clean
# why: strided memory is written by way of a dense buffer and copy_
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(p, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p + o, tl.zeros((BLOCK,), p.dtype.element_ty), mask=o < n)


def zero_(self):
    n = self.numel()
    if n == 0:
        return self
    if self.is_contiguous():
        kernel[(triton.cdiv(n, 1024),)](self, n, BLOCK=1024)
    else:
        tmp = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        kernel[(triton.cdiv(n, 1024),)](tmp, n, BLOCK=1024)
        self.copy_(tmp)
    return self
