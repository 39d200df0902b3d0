# operator: aten/t
# class: honest
# expect: clean
# why: metadata only: as_strided with swapped sizes and strides
import torch
import triton
import triton.language as tl

def t(self):
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    if self.dim() < 2:
        return self.as_strided(self.size(), self.stride(), self.storage_offset())
    (rows, cols), (step, inner) = self.size(), self.stride()
    return torch.as_strided(self, (cols, rows), (inner, step), self.storage_offset())
