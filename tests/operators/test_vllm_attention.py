"""Attention and rotary embedding of the source `vllm` against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from kgb_gym.operators import Call, Maker, expected, get
from kgb_gym.operators.vllm.families import paged


def precise(name: str, *args: Any) -> dict[str, torch.Tensor]:
    operator = get(f"vllm/{name}")
    found = expected(operator, operator.interfaces[0], Call(args)).written
    return {n: t.precise for n, t in found.items() if t.precise is not None}


@pytest.mark.parametrize(("is_neox", "want"), [(True, [-3, 2, 1, 4, 5]), (False, [-2, 1, 3, 4, 5])])
def test_rotary_embedding_by_hand(is_neox: bool, want: list[float]) -> None:
    # Two pairs of five elements: the first is turned by a right angle, the second not at all.
    table = torch.tensor([[9.0, 9, 9, 9], [0.0, 1, 1, 0]])
    args = (torch.tensor([1]), torch.tensor([[1.0, 2, 3, 4, 5]]), None, 5, table, is_neox)
    assert precise("rotary_embedding", *args)["query"].tolist() == [want]


def test_fused_qk_norm_rope_by_hand() -> None:
    qkv = torch.tensor([[3.0, 4.0, 6.0, 8.0, 1.0, 2.0]]).half()
    weights, table = (torch.tensor([1.0, 2.0]).half(), torch.ones(2).half()), torch.tensor([[0.0, 1.0]]).half()
    found = precise("fused_qk_norm_rope", qkv, 1, 1, 1, 2, 0.0, *weights, table, True, torch.tensor([0]))["qkv"]
    root = math.sqrt(12.5)
    want = torch.tensor([[-8 / root, 3 / root, -4 / root, 3 / root, 1, 2]]).double()
    torch.testing.assert_close(found, want, rtol=1e-6, atol=0)


def test_merge_attn_states_by_hand() -> None:
    a, b = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[5.0], [6.0]]])
    # (heads, tokens): head 0 has weights 1/4 and 3/4, head 1 none at all.
    p, s = torch.tensor([[0.0], [math.inf]]), torch.tensor([[math.log(3.0)], [-math.inf]])
    found = precise("merge_attn_states", torch.zeros(1, 2, 1), a, p, b, s, torch.zeros(2, 1))
    assert found["output"].flatten().tolist() == pytest.approx([4.0, 2.0])
    assert found["output_lse"].flatten().tolist() == pytest.approx([math.log(4.0), -math.inf])


def paged_case(**more: Any) -> dict[str, Any]:
    sizes = {"seqs": 3, "heads": 4, "kv_heads": 2, "head_size": 16, "block_size": 4, "context": 11}
    return paged.inputs(Maker(0), dtype=torch.float32, **{**sizes, **more})


@pytest.mark.parametrize("alibi", [False, True])
def test_paged_attention_is_plain_attention(alibi: bool) -> None:
    a = paged_case(alibi=alibi)
    answer = paged.attention(a)
    for s, length in enumerate(a["seq_lens"].tolist()):
        for head in range(4):
            at = [divmod(t, 4) for t in range(length)]
            blocks = [(int(a["block_tables"][s, page]), inside) for page, inside in at]
            k = torch.stack([a["key_cache"][b, head // 2, :, i].reshape(-1) for b, i in blocks]).double()
            v = torch.stack([a["value_cache"][b, head // 2, :, i] for b, i in blocks]).double()
            logits = k @ a["query"][s, head].double() * 0.25
            if alibi:
                logits += a["alibi_slopes"][head].double() * (torch.arange(length) - (length - 1))
            torch.testing.assert_close(answer[s, head], logits.softmax(0) @ v, rtol=1e-5, atol=1e-5)


def test_empty_sequences_give_zeros_and_ends_are_nan() -> None:
    a = paged_case(lengths="with_empty")
    assert not paged.attention(a)[-1].any() and not paged.attention(a).isnan().any()
    assert a["key_cache"].isnan().any() and a["value_cache"].isnan().any()


def test_sparse_pages_by_hand() -> None:
    a = {**paged_case(), "tp_rank": 0, "blocksparse_local_blocks": 1, "blocksparse_vert_stride": 3}
    a |= {"blocksparse_block_size": 4, "blocksparse_head_sliding_step": 1}
    # Three blocks; head h has offset h + 1, and the last block is local.
    seen = paged.attended(a, 11)[:, ::4].tolist()
    assert seen == [[False, False, True], [False, True, True], [True, False, True], [False, False, True]]
