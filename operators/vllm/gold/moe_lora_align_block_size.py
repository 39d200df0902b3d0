import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(ids, owner, counts, enabled, lora_ids, size, k, experts, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    adapter = tl.load(lora_ids + tl.program_id(1))
    if adapter >= 0 and tl.load(enabled + adapter) != 0:
        total = tl.zeros((BLOCK,), tl.int32)
        for start in range(0, size, BLOCK):
            at = start + tl.arange(0, BLOCK)
            found = tl.load(ids + at, mask=at < size, other=-1)
            lora = tl.load(owner + at // k, mask=at < size, other=-1)
            total += ((found == expert) & (lora == adapter)).to(tl.int32)
        tl.store(counts + adapter * experts + expert, tl.sum(total, axis=0))


@triton.jit
def place_kernel(
    ids,
    owner,
    counts,
    enabled,
    lora_ids,
    slots,
    owners,
    total,
    size,
    k,
    experts,
    block,
    length,
    blocks,
    EXPERTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    expert = tl.program_id(0)
    adapter = tl.load(lora_ids + tl.program_id(1))
    if adapter >= 0 and tl.load(enabled + adapter) != 0:
        every = tl.arange(0, EXPERTS)
        count = tl.load(counts + adapter * experts + every, mask=every < experts, other=0)
        taken = (count + block - 1) // block * block
        begin = tl.sum(tl.where(every < expert, taken, 0), axis=0)
        end = begin + tl.sum(tl.where(every == expert, taken, 0), axis=0)
        column = tl.arange(0, BLOCK)
        row = slots + adapter * length
        # The last program fills what no expert has.
        last = expert == experts
        stop = tl.where(last, length, end)
        done = 0
        for start in range(0, size, BLOCK):
            at = start + column
            found = tl.load(ids + at, mask=at < size, other=-1)
            lora = tl.load(owner + at // k, mask=at < size, other=-1)
            mine = ((found == expert) & (lora == adapter)).to(tl.int32)
            tl.store(row + begin + done + tl.cumsum(mine, axis=0) - 1, at, mask=mine != 0)
            done += tl.sum(mine, axis=0)
        for start in range(begin + done, stop, BLOCK):
            tl.store(row + start + column, size, mask=start + column < stop)
        until = tl.where(last, blocks, end // block)
        for start in range(begin // block, until, BLOCK):
            value = tl.where(last, -1, expert)
            tl.store(owners + adapter * blocks + start + column, value, mask=start + column < until)
        if last:
            tl.store(total + adapter, end)


def moe_lora_align_block_size(
    topk_ids,
    token_lora_mapping,
    num_experts,
    block_size,
    max_loras,
    max_num_tokens_padded,
    max_num_m_blocks,
    sorted_token_ids,
    experts_ids,
    num_tokens_post_pad,
    adapter_enabled,
    lora_ids,
    expert_map=None,
):
    size, k = topk_ids.numel(), topk_ids.shape[1]
    counts = torch.empty((max_loras * num_experts,), dtype=torch.int32, device=topk_ids.device)
    count_kernel[(num_experts, max_loras)](
        topk_ids, token_lora_mapping, counts, adapter_enabled, lora_ids, size, k, num_experts, BLOCK=1024
    )
    place_kernel[(num_experts + 1, max_loras)](
        topk_ids,
        token_lora_mapping,
        counts,
        adapter_enabled,
        lora_ids,
        sorted_token_ids,
        experts_ids,
        num_tokens_post_pad,
        size,
        k,
        num_experts,
        block_size,
        max_num_tokens_padded,
        max_num_m_blocks,
        EXPERTS=triton.next_power_of_2(num_experts),
        BLOCK=1024,
    )
