import triton
import triton.language as tl


@triton.jit
def align_kernel(
    counts, slots, owners, total, batches, most, block, length, BATCHES: tl.constexpr, BLOCK: tl.constexpr
):
    batch = tl.program_id(0)
    every = tl.arange(0, BATCHES)
    taken = (tl.load(counts + every, mask=every < batches, other=0) + block - 1) // block * block
    begin = tl.sum(tl.where(every < batch, taken, 0), axis=0)
    end = begin + tl.sum(tl.where(every == batch, taken, 0), axis=0)
    # The last program fills what no batch has.
    last = batch == batches
    count = tl.load(counts + batch, mask=batch < batches, other=0)
    stop = tl.where(last, length, end)
    column = tl.arange(0, BLOCK)
    for start in range(begin, stop, BLOCK):
        place = start + column
        inside = place - begin
        value = tl.where(inside < count, batch * most + inside, batches * most)
        tl.store(slots + place, value, mask=place < stop)
        owner = tl.where(last, -1, batch)
        tl.store(owners + place // block, owner, mask=(place < stop) & (place % block == 0))
    if last:
        tl.store(total, end)


def batched_moe_align_block_size(
    max_tokens_per_batch, block_size, expert_num_tokens, sorted_ids, expert_ids, num_tokens_post_pad
):
    batches = expert_num_tokens.shape[0]
    align_kernel[(batches + 1,)](
        expert_num_tokens,
        sorted_ids,
        expert_ids,
        num_tokens_post_pad,
        batches,
        max_tokens_per_batch,
        block_size,
        sorted_ids.numel(),
        BATCHES=triton.next_power_of_2(batches),
        BLOCK=256,
    )
