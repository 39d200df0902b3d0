import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(ids, counts, expert_map, size, MAP: tl.constexpr, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        found = tl.load(ids + at, mask=at < size, other=0).to(tl.int32)
        if MAP:
            found = tl.load(expert_map + found)
        total += ((found == expert) & (at < size)).to(tl.int32)
    tl.store(counts + expert, tl.sum(total, axis=0))


@triton.jit
def place_kernel(
    ids,
    counts,
    expert_map,
    slots,
    owners,
    total,
    size,
    experts,
    block,
    length,
    MAP: tl.constexpr,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    expert = tl.program_id(0)
    every = tl.arange(0, EXPERTS)
    taken = (tl.load(counts + every, mask=every < experts, other=0) + block - 1) // block * block
    begin = tl.sum(tl.where(every < expert, taken, 0), axis=0)
    end = begin + tl.sum(tl.where(every == expert, taken, 0), axis=0)
    column = tl.arange(0, BLOCK)
    # The last program fills what no expert has.
    last = expert == experts
    stop = tl.where(last, length, end)
    done = 0
    for start in range(0, size, BLOCK):
        at = start + column
        found = tl.load(ids + at, mask=at < size, other=0).to(tl.int32)
        if MAP:
            found = tl.load(expert_map + found)
        mine = ((found == expert) & (at < size)).to(tl.int32)
        tl.store(slots + begin + done + tl.cumsum(mine, axis=0) - 1, at, mask=mine != 0)
        done += tl.sum(mine, axis=0)
    for start in range(begin + done, stop, BLOCK):
        tl.store(slots + start + column, size, mask=start + column < stop)
    for start in range(begin // block, (stop + block - 1) // block, BLOCK):
        owner = tl.where(last, 0, expert)
        tl.store(owners + start + column, owner, mask=start + column < (stop + block - 1) // block)
    if last:
        tl.store(total, end)


def moe_align_block_size(
    topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad, expert_map=None
):
    size = topk_ids.numel()
    counts = torch.empty((num_experts,), dtype=torch.int32, device=topk_ids.device)
    moved = expert_map if expert_map is not None else counts
    given = expert_map is not None
    count_kernel[(num_experts,)](topk_ids, counts, moved, size, MAP=given, BLOCK=1024)
    place_kernel[(num_experts + 1,)](
        topk_ids,
        counts,
        moved,
        sorted_token_ids,
        experts_ids,
        num_tokens_post_pad,
        size,
        num_experts,
        block_size,
        sorted_token_ids.numel(),
        MAP=given,
        EXPERTS=triton.next_power_of_2(num_experts),
        BLOCK=1024,
    )
