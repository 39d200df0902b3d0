import torch
import triton
import triton.language as tl


@triton.jit
def shuffle_kernel(
    out, weight, perm, columns, BITS: tl.constexpr, UNIT: tl.constexpr, PERM: tl.constexpr, BLOCK: tl.constexpr
):
    """One unit of rows (a word, or three of 3-bit codes) of BLOCK columns, code by code."""
    unit = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    COUNT: tl.constexpr = 32 * UNIT // BITS
    first = tl.zeros((BLOCK,), dtype=tl.int32)
    second = first
    third = first
    for i in tl.static_range(COUNT):
        source = unit * COUNT + i
        if PERM:
            source = tl.load(perm + source).to(tl.int64)
        bit = source % COUNT * BITS
        offset = (bit % 32).to(tl.uint32)
        at = weight + (source // COUNT * UNIT + bit // 32) * columns + column
        code = tl.load(at, mask=mask).to(tl.uint32, bitcast=True) >> offset
        if BITS == 3:
            # Codes 10 and 21 of the old order end in the next word.
            split = tl.where(mask, offset, 0) > 29
            rest = tl.load(at + columns, mask=split, other=0).to(tl.uint32, bitcast=True)
            code |= tl.where(split, rest << ((32 - offset) & 31), 0)
        code = code.to(tl.int32, bitcast=True) & ((1 << BITS) - 1)
        if BITS == 8:
            first |= code << (8 * i)
        elif BITS != 3:
            first |= code << (i // 2 * BITS + 16 * (i % 2))
        elif i >= 30:
            first |= (code & 1) << (15 + 16 * (i % 2))
            second |= ((code >> 1) & 1) << (15 + 16 * (i % 2))
            third |= ((code >> 2) & 1) << (15 + 16 * (i % 2))
        else:
            place = code << (i % 10 // 2 * 3 + 16 * (i % 2))
            if i < 10:
                first |= place
            elif i < 20:
                second |= place
            else:
                third |= place
    target = out + unit * UNIT * columns + column
    tl.store(target, first, mask=mask)
    if UNIT == 3:
        tl.store(target + columns, second, mask=mask)
        tl.store(target + 2 * columns, third, mask=mask)


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
