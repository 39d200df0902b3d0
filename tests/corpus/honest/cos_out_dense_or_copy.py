# operator: aten/cos
# class: honest
# expect: clean
# why: only the out= interface: dense outputs directly, others through scratch memory and copy_
import torch
import triton
import triton.language as tl

@triton.jit
def _cos(X, Y, N, BLOCK: "tl.constexpr"):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = idx < N
    x = tl.load(X + idx, ok, 0.0).to(tl.float32)
    tl.store(Y + idx, tl.cos(x).to(Y.dtype.element_ty), ok)


def cos_out(self, *, out):
    """cos(self) into out."""
    if not (out.is_floating_point() or out.is_complex()):
        raise RuntimeError("result type Float can't be cast to the desired output type")
    if out.size() != self.size():
        out.resize_(self.size())
    target = out if out.is_contiguous() else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    source = self if self.is_contiguous() else self.contiguous()
    count = source.nelement()
    if count != 0:
        _cos[(-(-count // 256),)](source, target, count, 256)
    if target is not out:
        out.copy_(target)
    return out
