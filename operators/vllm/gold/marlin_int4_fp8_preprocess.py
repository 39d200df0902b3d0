import torch
import triton
import triton.language as tl


@triton.jit
def recode_kernel(out, weight, zeros, count, words, group, ZEROS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    word = tl.load(weight + at, mask=mask)
    if ZEROS:
        zero_word = tl.load(zeros + at // words // group * words + at % words, mask=mask)
    answer = tl.zeros_like(word)
    for i in tl.static_range(8):
        code = (word >> (4 * i)) & 15
        zero = (zero_word >> (4 * i)) & 15 if ZEROS else 8
        answer |= tl.where(code >= zero, code - zero, 15 - code) << (4 * i)
    tl.store(out + at, answer, mask=mask)


def marlin_int4_fp8_preprocess(qweight, qzeros_or_none=None, inplace=False):
    out = qweight if inplace else torch.empty_like(qweight)
    rows, words = qweight.shape
    count = qweight.numel()
    if count:
        given = qzeros_or_none is not None
        recode_kernel[(triton.cdiv(count, 1024),)](
            out,
            qweight,
            qzeros_or_none if given else qweight,
            count,
            words,
            rows // qzeros_or_none.shape[0] if given else 1,
            ZEROS=given,
            BLOCK=1024,
        )
    return out
