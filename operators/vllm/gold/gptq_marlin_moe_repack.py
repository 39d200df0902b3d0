import torch
import triton
import triton.language as tl


@triton.jit
def repack_kernel(
    out, weight, perm, K, N, BITS: tl.constexpr, WIDE: tl.constexpr, PERM: tl.constexpr, BLOCK: tl.constexpr
):
    """BLOCK words of one expert: each field of a word says which code it holds."""
    expert = tl.program_id(1).to(tl.int64)
    PACK: tl.constexpr = 32 // BITS
    count = K * N // PACK
    word = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = word < count
    answer = tl.zeros((BLOCK,), tl.int32)
    for field in tl.static_range(PACK):
        if WIDE:
            tile = word // (1024 // PACK)
            inside = word % (1024 // PACK)
            thread = inside // (32 // PACK)
            if BITS == 4:
                quarter = inside % 4
                i = field // 2
                high = field % 2
            else:
                quarter = inside % 8 // 2
                i = field
                high = inside % 2
            k = tile // (N // 32) * 32 + high * 16 + thread % 4 * 4 + i
            n = tile % (N // 32) * 32 + quarter * 8 + thread // 4
        else:
            width = N * 16 // PACK
            inside = word % width % (1024 // PACK)
            thread = inside // (32 // PACK)
            if BITS == 4:
                quarter = inside % 4
                e = field % 4 * 2 + field // 4
                i = e % 4
                high = e // 4
            else:
                quarter = inside % 8 // 2
                i = field % 2 * 2 + field // 2
                high = inside % 2
            k = word // width * 16 + i // 2 * 8 + thread % 4 * 2 + i % 2
            n = word % width // (1024 // PACK) * 64 + quarter * 16 + high * 8 + thread // 4
        if PERM:
            k = tl.load(perm + expert * K + k, mask=mask, other=0)
        source = tl.load(weight + expert * count + k // PACK * N + n, mask=mask)
        code = (source >> (k % PACK * BITS)) & ((1 << BITS) - 1)
        answer |= code << (BITS * field)
    tl.store(out + expert * count + word, answer, mask=mask)


def gptq_marlin_moe_repack(b_q_weight, perm, size_k, size_n, num_bits, is_a_8bit=False):
    experts = b_q_weight.shape[0]
    shape = (experts, size_k // 16, size_n * num_bits // 2)
    out = torch.empty(shape, dtype=torch.int32, device=b_q_weight.device)
    words = shape[1] * shape[2]
    if experts * words:
        repack_kernel[(triton.cdiv(words, 1024), experts)](
            out,
            b_q_weight,
            perm,
            size_k,
            size_n,
            BITS=num_bits,
            WIDE=is_a_8bit,
            PERM=perm.numel() > 0,
            BLOCK=1024,
        )
    return out
