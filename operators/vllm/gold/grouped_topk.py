import torch
import triton
import triton.language as tl


@triton.jit
def grouped_kernel(
    weights,
    ids,
    scores,
    bias,
    factor,
    groups,
    size,
    TAKE: tl.constexpr,
    SIGMOID: tl.constexpr,
    RENORMALIZE: tl.constexpr,
    K: tl.constexpr,
    KP: tl.constexpr,
    GROUPS: tl.constexpr,
    SIZE: tl.constexpr,
):
    token = tl.program_id(0)
    group = tl.arange(0, GROUPS)
    inner = tl.arange(0, SIZE)[None, :]
    expert = group[:, None] * size + inner
    mask = (group[:, None] < groups) & (inner < size)
    plain = tl.load(scores + token.to(tl.int64) * groups * size + expert, mask=mask).to(tl.float32)
    if SIGMOID:
        plain = 1.0 / (1.0 + tl.exp(-plain))
    left = tl.where(mask, plain + tl.load(bias + expert, mask=mask).to(tl.float32), float("-inf"))

    largest = tl.max(left, axis=1)
    first = tl.min(tl.where(left == largest[:, None], inner, SIZE), axis=1)
    second = tl.max(tl.where(inner == first[:, None], float("-inf"), left), axis=1)
    worth = largest + second
    nothing = tl.max(worth) == float("-inf")
    taken = tl.zeros((GROUPS,), tl.int32)
    for _ in range(TAKE):
        best = tl.max(worth)
        winner = tl.min(tl.where(worth == best, group, GROUPS))
        taken = tl.where(group == winner, 1, taken)
        worth = tl.where(group == winner, float("-inf"), worth)
    left = tl.where(taken[:, None] == 1, left, float("-inf"))

    column = tl.arange(0, KP)
    picked = tl.zeros((KP,), tl.float32)
    chosen = tl.zeros((KP,), tl.int32)
    for k in range(K):
        best = tl.max(left)
        number = tl.min(tl.where(left == best, expert, groups * size))
        here = mask & (expert == number)
        picked = tl.where(column == k, tl.sum(tl.where(here, plain, 0.0)), picked)
        chosen = tl.where(column == k, number, chosen)
        left = tl.where(here, float("-inf"), left)
    if RENORMALIZE:
        picked = picked / (tl.sum(picked) + 1e-20)
    at = token * K + column
    tl.store(weights + at, tl.where(nothing, 1.0 / K, picked * factor), mask=column < K)
    tl.store(ids + at, tl.where(nothing, column, chosen), mask=column < K)


def grouped_topk(scores, num_expert_group, topk_group, topk, renormalize, routed_scaling_factor, bias, scoring_func=0):
    tokens, experts = scores.shape
    weights = torch.empty((tokens, topk), dtype=torch.float32, device=scores.device)
    ids = torch.empty((tokens, topk), dtype=torch.int32, device=scores.device)
    if tokens == 0:
        return weights, ids
    size = experts // num_expert_group
    grouped_kernel[(tokens,)](
        weights,
        ids,
        scores,
        bias,
        routed_scaling_factor,
        num_expert_group,
        size,
        TAKE=topk_group,
        SIGMOID=scoring_func == 1,
        RENORMALIZE=renormalize,
        K=topk,
        KP=triton.next_power_of_2(topk),
        GROUPS=triton.next_power_of_2(num_expert_group),
        SIZE=triton.next_power_of_2(size),
        num_warps=1 if experts <= 128 else 4,
    )
    return weights, ids
