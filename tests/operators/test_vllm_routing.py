"""Routing to experts in the source `vllm` against tables worked out by hand."""

from __future__ import annotations

from typing import Any

import torch

from kgb_gym.operators import Call, expected, get
from kgb_gym.operators.oracle import bind


def written(name: str, *args: Any) -> dict[str, list[Any]]:
    operator = get(f"vllm/{name}")
    found = expected(operator, operator.interfaces[0], Call(args)).written
    return {n: t.reference.tolist() for n, t in found.items()}


def ints(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


def align_call(expert_map: torch.Tensor | None) -> Call:
    ids = ints(2, 0, 2, 3, 2, 0).view(3, 2)
    return Call((ids, 4, 2, torch.zeros(10).int(), torch.zeros(5).int(), torch.zeros(1).int(), expert_map))


def test_moe_align_by_hand() -> None:
    after = written("moe_align_block_size", *align_call(None).args)
    assert after["sorted_token_ids"] == [1, 5, 0, 2, 4, 6, 3, 6, 6, 6]
    assert after["experts_ids"] == [0, 2, 2, 3, 0] and after["num_tokens_post_pad"] == [8]
    after = written("moe_align_block_size", *align_call(ints(1, -1, 0, -1)).args)
    assert after["sorted_token_ids"] == [0, 2, 4, 6, 1, 5, 6, 6, 6, 6]
    assert after["experts_ids"] == [0, 0, 1, 0, 0] and after["num_tokens_post_pad"] == [6]


def test_tokens_of_an_expert_may_be_in_any_order() -> None:
    operator = get("vllm/moe_align_block_size")
    call = align_call(None)
    target = expected(operator, operator.interfaces[0], call).written["sorted_token_ids"]
    arguments = bind(operator, operator.interfaces[0], call)
    for slots, passes in (
        ([5, 1, 4, 6, 2, 0, 3, 6, 6, 6], True),
        ([5, 5, 4, 6, 2, 0, 3, 6, 6, 6], False),
        ([0, 1, 4, 6, 2, 5, 3, 6, 6, 6], False),
        ([1, 5, 0, 2, 4, 6, 3, 6, 6, 0], False),
    ):
        assert operator.compare.check(target, ints(*slots), arguments).strict is passes


def test_batched_moe_align_by_hand() -> None:
    outs = torch.zeros(12).int(), torch.zeros(6).int(), torch.zeros(1).int()
    after = written("batched_moe_align_block_size", 3, 2, ints(3, 0, 1), *outs)
    assert after["sorted_ids"] == [0, 1, 2, 9, 6, 9, 9, 9, 9, 9, 9, 9]
    assert after["expert_ids"] == [0, 0, 2, -1, -1, -1] and after["num_tokens_post_pad"] == [6]


def test_topk_softmax_by_hand() -> None:
    outs = torch.zeros(2, 2), torch.zeros(2, 2).int(), torch.zeros(2, 2).int()
    logits = torch.tensor([[0.0, 1.0, 0.0, 1.0], [3.0, 0.0, 2.0, 1.0]])
    after = written("topk_softmax", *outs, logits, True)
    assert after["topk_ids"] == [[1, 3], [0, 2]] and after["token_expert_indices"] == [[0, 2], [1, 3]]
    assert after["topk_weights"][0] == [0.5, 0.5]


def test_grouped_topk_by_hand() -> None:
    operator = get("vllm/grouped_topk")
    scores = torch.tensor([[0.5, 0.25, 0.75, 0.0, 0.25, 0.25], [float("-inf")] * 6])
    bias = torch.tensor([0.0, 0.0, 0.0, -0.5, 0.0, 0.5])

    def picked(groups: int, taken: int, k: int, renormalize: bool) -> tuple[list[Any], list[Any]]:
        call = Call((scores, groups, taken, k, renormalize, 2.0, bias))
        weights, ids = expected(operator, operator.interfaces[0], call).returns
        return weights.precise.tolist(), ids.reference.tolist()

    # The groups count 0.75, 0.25 and 1: the largest score of all is in the worst.
    assert picked(3, 1, 2, False) == ([[0.5, 0.5], [0.5, 0.5]], [[5, 4], [0, 1]])
    assert picked(3, 2, 2, True) == ([[2 / 3, 4 / 3], [0.5, 0.5]], [[5, 0], [0, 1]])
    assert picked(3, 2, 4, False) == ([[0.5, 1.0, 0.5, 0.5], [0.25] * 4], [[5, 0, 1, 4], [0, 1, 2, 3]])
    assert picked(1, 1, 3, False) == ([[1.5, 0.5, 1.0], [1 / 3] * 3], [[2, 5, 0], [0, 1, 2]])


def test_moe_sum_by_hand() -> None:
    assert written("moe_sum", torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.zeros(1, 2))["output"] == [[4.0, 6.0]]


def test_rows_columns_and_penalties_by_hand() -> None:
    operator = get("vllm/shuffle_rows")
    source = torch.arange(32.0).view(2, 16)
    (rows,) = expected(operator, operator.interfaces[0], Call((source, ints(1, 0, 1)))).returns
    assert rows.reference.equal(source[[1, 0, 1]])
    operator = get("vllm/permute_cols")
    (columns,) = expected(operator, operator.interfaces[0], Call((source.half(), ints(*reversed(range(16)))))).returns
    assert columns.reference.equal(source.half().flip(1))
    logits, masks = (
        torch.tensor([[2.0, -2.0, 2.0]]),
        (torch.tensor([[True, False, False]]), torch.tensor([[False, True, False]])),
    )
    after = written("apply_repetition_penalties_cuda", logits, *masks, torch.tensor([4.0]))
    assert after["logits"] == [[0.5, -8.0, 2.0]]
