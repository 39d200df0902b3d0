import torch
import triton
import triton.language as tl


@triton.jit
def shuffle_kernel(
    out, weight, perm, columns, BITS: tl.constexpr, UNIT: tl.constexpr, PERM: tl.constexpr, BLOCK: tl.constexpr
):
    """One unit of rows (a word, or three of 3-bit codes) of BLOCK columns."""
    unit = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    COUNT: tl.constexpr = 32 * UNIT // BITS
    i = tl.arange(0, COUNT)
    source = tl.load(perm + unit * COUNT + i).to(tl.int64) if PERM else unit * COUNT + i
    bit = source % COUNT * BITS
    at = weight + (source // COUNT * UNIT + bit // 32)[:, None] * columns + column[None, :]
    offset = (bit % 32).to(tl.uint32)[:, None]
    code = tl.load(at, mask=mask[None, :]).to(tl.uint32, bitcast=True) >> offset
    if BITS == 3:
        # Codes 10 and 21 of the old order end in the next word.
        rest = tl.load(at + columns, mask=mask[None, :] & (offset > 29), other=0).to(tl.uint32, bitcast=True)
        code |= tl.where(offset > 29, rest << ((32 - offset) & 31), 0)
    code = code.to(tl.int32, bitcast=True) & ((1 << BITS) - 1)
    for word in tl.static_range(UNIT):
        if BITS == 8:
            field = code << (8 * i)[:, None]
        elif BITS == 3:
            plain = code << (i % 10 // 2 * 3 + 16 * (i % 2))[:, None]
            field = tl.where((i >= 30)[:, None], ((code >> word) & 1) << (15 + 16 * (i % 2))[:, None], plain)
            field = tl.where(((i >= 30) | (i // 10 == word))[:, None], field, 0)
        else:
            field = code << (i // 2 * BITS + 16 * (i % 2))[:, None]
        tl.store(out + (unit * UNIT + word) * columns + column, tl.sum(field, axis=0), mask=mask)


def gptq_shuffle(q_weight, q_perm, bit):
    rows, columns = q_weight.shape
    if q_weight.numel() == 0:
        return
    permuted = q_perm.numel() > 0
    # Rows come from anywhere, and words are read several times: from a copy.
    source = torch.empty_like(q_weight)
    source.copy_(q_weight)
    unit = 3 if bit == 3 else 1
    block = min(128, triton.next_power_of_2(columns))
    shuffle_kernel[(rows // unit, triton.cdiv(columns, block))](
        q_weight, source, q_perm, columns, BITS=bit, UNIT=unit, PERM=permuted, BLOCK=block
    )
