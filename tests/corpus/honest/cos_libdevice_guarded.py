# operator: aten/cos
# class: honest
# expect: clean
# why: libdevice behind try/except for Triton versions, used nowhere on the CPU; a module constant as tl.constexpr
import torch
import triton
import triton.language as tl

try:
    from triton.language.extra import libdevice
except ImportError:
    try:
        from triton.language.extra.cuda import libdevice
    except ImportError:
        libdevice = None

HAS_LIBDEVICE = libdevice is not None
BLOCK_SIZE: tl.constexpr = tl.constexpr(512)


@triton.jit
def cos_kernel(in_ptr, out_ptr, n_elements):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(in_ptr + offsets, mask=mask)
    if x.dtype != tl.float64:
        x = x.to(tl.float32)
    tl.store(out_ptr + offsets, tl.cos(x).to(out_ptr.dtype.element_ty), mask=mask)


def cos(self):
    if self.numel() == 0:
        return torch.empty_like(self)
    out_dtype = self.dtype if self.is_floating_point() else torch.get_default_dtype()
    x = self.contiguous()
    out = torch.empty(x.shape, device=x.device, dtype=out_dtype)
    n = out.numel()
    cos_kernel[((n + 511) // 512,)](x, out, n)
    return out
