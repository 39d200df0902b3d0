import triton
import triton.language as tl


@triton.jit
def penalties_kernel(logits, prompt_mask, output_mask, penalties, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = row * columns + column
    mask = column < columns
    seen = tl.load(prompt_mask + at, mask=mask) | tl.load(output_mask + at, mask=mask)
    penalty = tl.load(penalties + row).to(tl.float32)
    logit = tl.load(logits + at, mask=mask).to(tl.float32)
    changed = tl.where(logit > 0, tl.div_rn(logit, tl.zeros_like(logit) + penalty), logit * penalty)
    tl.store(logits + at, changed, mask=mask & (seen != 0))


def apply_repetition_penalties_cuda(logits, prompt_mask, output_mask, repetition_penalties):
    rows, columns = logits.shape
    if rows == 0 or columns == 0:
        return
    penalties_kernel[(rows, triton.cdiv(columns, 1024))](
        logits, prompt_mask, output_mask, repetition_penalties, columns, BLOCK=1024
    )
