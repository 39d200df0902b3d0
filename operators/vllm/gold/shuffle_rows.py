import torch
import triton
import triton.language as tl


@triton.jit
def shuffle_kernel(out, source, order, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    origin = tl.load(order + row).to(tl.int64)
    tl.store(out + row * columns + column, tl.load(source + origin * columns + column, mask=mask), mask=mask)


def shuffle_rows(input_tensor, dst2src_map):
    rows, columns = dst2src_map.shape[0], input_tensor.shape[1]
    out = torch.empty((rows, columns), dtype=input_tensor.dtype, device=input_tensor.device)
    if rows == 0:
        return out
    block = min(triton.next_power_of_2(columns), 2048)
    shuffle_kernel[(rows, triton.cdiv(columns, block))](out, input_tensor, dst2src_map, columns, BLOCK=block)
    return out
