import torch
import triton
import triton.language as tl


@triton.jit
def convert_kernel(output, input, count, scale, TO: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    x = tl.load(input + at, mask=mask)
    if TO:
        code = tl.div_rn(x.to(tl.float32), tl.full((BLOCK,), scale, tl.float32)).to(tl.float8e4nv)
        tl.store(output + at, code.to(tl.uint8, bitcast=True), mask=mask)
    else:
        number = x.to(tl.float8e4nv, bitcast=True).to(tl.float32) * scale
        tl.store(output + at, number.to(output.dtype.element_ty), mask=mask)


def convert_fp8(output, input, scale=1.0, kv_dtype="fp8"):
    if kv_dtype not in ("fp8", "fp8_e4m3"):
        raise ValueError("kv_dtype must be fp8 or fp8_e4m3")
    count = input.numel()
    if count == 0:
        return
    convert_kernel[(triton.cdiv(count, 1024),)](
        output, input, count, float(scale), TO=output.dtype == torch.uint8, BLOCK=1024
    )
