"""Attention of one query token a sequence over paged keys and values: inputs, definition and error model."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch

from kgb_gym.operators.compare import Close
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import cache

LENGTHS = ("ragged", "full", "with_empty")
OWN = 256
"""Up to so many blocks every sequence has its own; where more are needed, so many are shared."""


def inputs(
    make: Maker, *, seqs: int, heads: int, kv_heads: int, head_size: int, block_size: int, context: int,
    dtype: torch.dtype, kv_cache_dtype: str = "auto", lengths: str = "ragged", alibi: bool = False, padding: int = 0,
    sharp: float = 1.0,
) -> dict[str, Any]:  # fmt: skip
    """The arguments by name, but for the outputs and the sparse ones. Small caches are not shared between sequences,
    and what lies beyond a sequence's end in its last block is NaN. `sharp`: a factor of the scale; logits of 100 and
    more have no exponential in fp32."""
    cached = dtype if kv_cache_dtype == "auto" else torch.uint8
    x = 16 // cached.itemsize
    pages = -(-context // block_size)
    own = seqs * pages <= OWN
    blocks = seqs * pages if own else OWN
    keys = _contents(make, (blocks, kv_heads, head_size // x, block_size, x), cached)
    values = _contents(make, (blocks, kv_heads, head_size, block_size), cached)
    order = make.permutation(blocks) if own else make.integers((seqs * pages,), torch.int64, low=0, high=blocks)
    table = order.view(seqs, pages).int()
    seq_lens = [context if lengths == "full" or s == 0 else make.rng.randint(1, context) for s in range(seqs)]
    if lengths == "with_empty":
        seq_lens[-1] = 0
    if own:
        nan = 0x7F if cached is torch.uint8 else float("nan")
        for row, length in zip(table.tolist(), seq_lens, strict=True):
            for page in range(length // block_size, pages):
                inside = max(0, length - page * block_size)
                keys[row[page], :, :, inside:] = nan
                values[row[page], :, :, inside:] = nan
    buffer = make.normal((seqs, heads * head_size + padding), dtype)
    query = buffer.as_strided((seqs, heads, head_size), (heads * head_size + padding, head_size, 1))
    return {
        "query": query,
        "key_cache": keys,
        "value_cache": values,
        "num_kv_heads": kv_heads,
        "scale": head_size**-0.5 * sharp,
        "block_tables": table,
        "seq_lens": torch.tensor(seq_lens, dtype=torch.int32),
        "block_size": block_size,
        "max_seq_len": context,
        "alibi_slopes": make.uniform((heads,), torch.float32, low=0.01, high=0.5) if alibi else None,
        "kv_cache_dtype": kv_cache_dtype,
        "k_scale": make.uniform((1,), torch.float32, low=0.3, high=2.0),
        "v_scale": make.uniform((1,), torch.float32, low=0.3, high=2.0),
    }


def _contents(make: Maker, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Normal values, or e4m3 bytes of either sign below 2."""
    if dtype is not torch.uint8:
        return make.normal(shape, dtype)
    return make.integers(shape, torch.uint8, low=0, high=64) + 128 * make.integers(shape, torch.uint8, low=0, high=2)


def attention(a: Mapping[str, Any], magnitudes: bool = False) -> torch.Tensor:
    """The answer (seqs, heads, head_size) in float64; with `magnitudes`, that of the values' absolutes."""
    query: torch.Tensor = a["query"]
    seqs, heads, size = query.shape
    group = heads // a["num_kv_heads"]
    out = torch.zeros(seqs, heads, size, dtype=torch.float64)
    for s, length in enumerate(a["seq_lens"].tolist()):
        if length == 0:
            continue
        pages = a["block_tables"][s, : -(-length // a["block_size"])].long()
        # (pages, heads, size / x, tokens, x) -> (heads, tokens, size); values (pages, heads, size, tokens)
        k = a["key_cache"][pages].permute(1, 0, 3, 2, 4).reshape(a["num_kv_heads"], -1, size)
        v = a["value_cache"][pages].permute(1, 0, 3, 2).reshape(a["num_kv_heads"], -1, size)
        k, v = _wide(k[:, :length], a["k_scale"], a), _wide(v[:, :length], a["v_scale"], a)
        q = query[s].double().view(-1, group, size)
        logits = (q @ k.mT).reshape(heads, length) * a["scale"]
        if a["alibi_slopes"] is not None:
            logits += a["alibi_slopes"].double()[:, None] * (torch.arange(length) - length + 1)
        logits = logits.masked_fill(~attended(a, length), float("-inf"))
        p = torch.exp(logits - logits.amax(1, keepdim=True))
        p = p / (p.sum(1, keepdim=True) + 1e-6)
        out[s] = (p.view(-1, group, length) @ (v.abs() if magnitudes else v)).reshape(heads, size)
    return out


def _wide(stored: torch.Tensor, scale: torch.Tensor, a: Mapping[str, Any]) -> torch.Tensor:
    numbers = stored if a["kv_cache_dtype"] == "auto" else cache.from_e4m3(stored, scale, a["query"].dtype)
    return numbers.double()


def attended(a: Mapping[str, Any], length: int) -> torch.Tensor:
    """Which tokens each head attends to, bool (heads, length): by pages, where attention is sparse."""
    heads, kv_heads = a["query"].shape[1], a["num_kv_heads"]
    stride = a.get("blocksparse_vert_stride", 0)
    if stride <= 1:
        return torch.ones(heads, length, dtype=torch.bool)
    size, step = a["blocksparse_block_size"], a["blocksparse_head_sliding_step"]
    head = torch.arange(heads)
    if step >= 0:
        offset = (a["tp_rank"] * heads + head) * step + 1
    else:
        offset = (a["tp_rank"] * kv_heads + head // (heads // kv_heads)) * -step + 1
    block = (torch.arange(length) // a["block_size"] * a["block_size"]) // size
    last = (length - 1) // size
    local = block > last - a["blocksparse_local_blocks"]
    mask: torch.Tensor = local | ((block + offset[:, None]) % stride == 0)
    return mask


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other numbers of sequences and heads, another head and block size, other lengths."""
    kv_heads = rng.randint(1, max(2, params["kv_heads"]))
    return {
        **params,
        "seqs": rng.randint(1, params["seqs"] + 1),
        "kv_heads": kv_heads,
        "heads": kv_heads * rng.randint(1, 4),
        "head_size": rng.choice((32, 64, 80, 96, 112)),
        "block_size": rng.choice((8, 16, 32)),
        "context": max(1, params["context"] + rng.randint(-3, 20)),
        "padding": rng.choice((0, 16)),
    }


# Summed are both the products of a logit (the head's size) and the values (the tokens).
# A kernel may round its probabilities to the type of the values for a product on tensor cores; the slack is that of
# the logits, whose error the exponential multiplies.
COMPARE = Close(
    depth=lambda a: int(a["max_seq_len"]) + int(a["query"].shape[-1]),
    scale=lambda a: attention(a, magnitudes=True),
    slack=64.0,
    own=1.0,
)

TAIL = (
    "num_kv_heads: int, scale: float, block_tables: torch.Tensor, seq_lens: torch.Tensor, block_size: int, "
    "max_seq_len: int, alibi_slopes: torch.Tensor | None, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: "
    "torch.Tensor, tp_rank: int = 0, blocksparse_local_blocks: int = 0, blocksparse_vert_stride: int = 0, "
    "blocksparse_block_size: int = 64, blocksparse_head_sliding_step: int = 0) -> None"
)
DESCRIPTION = (
    "Attention of one query token a sequence over its paged keys and values, for decoding. For sequence s of L = "
    "seq_lens[s] tokens and query head h, with key head h // (heads / num_kv_heads): l_t = scale * <query[s, h], k_t>, "
    "plus alibi_slopes[h] * (t - L + 1) where slopes are given; p_t = exp(l_t - max l) / (sum exp(l - max l) + 1e-6); "
    "out[s, h] is the sum of p_t * v_t."
)
NOTES = (
    (
        "query and out are (seqs, heads, head_size); the stride between the rows of query may exceed heads * head_size. "
        "block_tables is (seqs, most blocks) int32, seq_lens is (seqs,) int32, at most max_seq_len. Token t of sequence s "
        "is in block b = block_tables[s, t // block_size] at place i = t % block_size:\n"
        "  key_cache   (blocks, kv heads, head_size / x, block_size, x)   k_t[d] = key_cache[b, h, d // x, i, d % x]\n"
        "  value_cache (blocks, kv heads, head_size, block_size)          v_t[d] = value_cache[b, h, d, i]\n"
        "with x = 16 / (bytes of a cache element). What lies beyond a sequence's end may be NaN and must not matter. A "
        "sequence of length 0 gives zeros."
    ),
    (
        "kv_cache_dtype 'auto': the caches have query's type (fp16, bf16, fp32), the scales are ignored. 'fp8': uint8 "
        "caches of e4m3 numbers; k and v are number * k_scale and number * v_scale, rounded to query's type. The scales "
        "are one-element fp32 tensors. Sums and exponentials are in fp32; probabilities may be rounded to query's type."
    ),
    (
        "If blocksparse_vert_stride > 1, a cache block whose first token is t0 counts only if kb > qb - "
        "blocksparse_local_blocks or (kb + offset) % blocksparse_vert_stride == 0, where kb = t0 // "
        "blocksparse_block_size, qb = (L - 1) // blocksparse_block_size and, with step = blocksparse_head_sliding_step, "
        "offset = (tp_rank * heads + h) * step + 1 if step >= 0, else (tp_rank * num_kv_heads + key head) * -step + 1."
    ),
)
