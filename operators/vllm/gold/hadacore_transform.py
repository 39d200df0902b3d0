import torch
import triton
import triton.language as tl


@triton.jit
def hadamard_kernel(out, x, rows, factor, LOG: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr):
    """Each step takes the top bit of the index away, adds and subtracts along it and appends it as the lowest bit;
    after LOG steps every bit has been summed and is back in its place."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * N + tl.arange(0, N)[None, :]
    mask = (row < rows)[:, None] & (tl.arange(0, N) < N)[None, :]
    y = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    for _ in tl.static_range(LOG):
        first, second = tl.split(tl.permute(tl.reshape(y, (ROWS, 2, N // 2)), (0, 2, 1)))
        y = tl.reshape(tl.join(first + second, first - second), (ROWS, N))
    tl.store(out + at, (y * factor).to(out.dtype.element_ty), mask=mask)


def hadacore_transform(x, inplace=True):
    out = x if inplace else torch.empty_like(x)
    n = x.shape[-1]
    count = x.numel()
    if count == 0:
        return out
    rows = count // n
    height = min(max(1, 2048 // n), triton.next_power_of_2(rows))
    hadamard_kernel[(triton.cdiv(rows, height),)](
        out,
        x,
        rows,
        n**-0.5,
        LOG=n.bit_length() - 1,
        N=n,
        ROWS=height,
        num_warps=4 if n <= 4096 else 16,
    )
    return out
