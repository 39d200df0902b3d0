# operator: vllm/rms_norm
# class: honest
# expect: clean
# why: vLLM's signature with annotations; rows through a loop of tiles; nothing returned
import torch
import triton
import triton.language as tl

@triton.jit
def _rms_norm_kernel(
    out_ptr, input_ptr, weight_ptr, stride_row, hidden_size, eps, BLOCK_SIZE: tl.constexpr, CACHED: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    x_row = input_ptr + row * stride_row
    y_row = out_ptr + row * hidden_size
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, hidden_size, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_row + cols, mask=cols < hidden_size, other=0.0).to(tl.float32)
        acc += x * x
    rrms = 1.0 / tl.sqrt_rn(tl.sum(acc) / hidden_size + eps)
    for off in range(0, hidden_size, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < hidden_size
        x = tl.load(x_row + cols, mask=mask, other=0.0)
        w = tl.load(weight_ptr + cols, mask=mask, other=0.0)
        normed = (x.to(tl.float32) * rrms).to(x.dtype)
        tl.store(y_row + cols, (normed.to(tl.float32) * w.to(tl.float32)).to(x.dtype), mask=mask)


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    hidden_size = input.size(-1)
    x = input.view(-1, hidden_size) if input.is_contiguous() else input.reshape(-1, hidden_size)
    num_tokens = x.shape[0]
    if num_tokens == 0:
        return
    BLOCK_SIZE = min(1024, max(16, triton.next_power_of_2(hidden_size)))
    _rms_norm_kernel[(num_tokens,)](
        out, x, weight, x.stride(0), hidden_size, epsilon, BLOCK_SIZE=BLOCK_SIZE, CACHED=hidden_size <= BLOCK_SIZE
    )
