import triton
import triton.language as tl


@triton.jit
def topk_kernel(
    weights,
    ids,
    places,
    logits,
    tokens,
    experts,
    RENORMALIZE: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0)
    expert = tl.arange(0, BLOCK)
    mask = expert < experts
    left = tl.load(logits + token.to(tl.int64) * experts + expert, mask=mask, other=float("-inf")).to(tl.float32)
    top = tl.max(left, axis=0)
    total = tl.sum(tl.exp(left - top), axis=0)
    column = tl.arange(0, KP)
    picked = tl.zeros((KP,), tl.float32)
    chosen = tl.zeros((KP,), tl.int32)
    for k in range(K):
        best = tl.max(left, axis=0)
        first = tl.min(tl.where(left == best, expert, BLOCK), axis=0)
        picked = tl.where(column == k, tl.exp(best - top), picked)
        chosen = tl.where(column == k, first, chosen)
        left = tl.where(expert == first, float("-inf"), left)
    if RENORMALIZE:
        total = tl.sum(picked, axis=0)
    at = token * K + column
    tl.store(weights + at, picked / total, mask=column < K)
    tl.store(ids + at, chosen, mask=column < K)
    tl.store(places + at, column * tokens + token, mask=column < K)


def topk_softmax(topk_weights, topk_ids, token_expert_indices, gating_output, renormalize=False):
    tokens, experts = gating_output.shape
    k = topk_ids.shape[1]
    if tokens == 0:
        return
    topk_kernel[(tokens,)](
        topk_weights,
        topk_ids,
        token_expert_indices,
        gating_output,
        tokens,
        experts,
        RENORMALIZE=renormalize,
        K=k,
        KP=triton.next_power_of_2(k),
        BLOCK=triton.next_power_of_2(experts),
        num_warps=1 if experts <= 128 else 4,
    )
