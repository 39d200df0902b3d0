"""Selective scan of a state-space model over sequences with cached states (vLLM `selective_scan_fwd`)."""

from __future__ import annotations

import random
from typing import Any

import torch

from kgb_gym.operators import grids
from kgb_gym.operators.declaration import Call
from kgb_gym.operators.maker import Maker
from kgb_gym.operators.vllm.families import scan
from kgb_gym.operators.vllm.families.entry import axes, entry

PAD = -1


def build(
    make: Maker, *, dim: int, n: int, groups: int, lengths: tuple[int, ...], dtype: torch.dtype, opts: int,
    delta_softplus: bool, initial: bool, packed: bool = True, state_dtype: torch.dtype | None = None,
    indexed: str = "none", blocks: int = 0,
) -> Call:  # fmt: skip
    """One call. `opts`: bits for D, z and delta_bias; `packed`: sequences one after the other, else all of the first
    one's length; `indexed`: `none`, slots in `order` or `pads` (one sequence is to be skipped); `blocks`: tokens after
    which a state is kept, where not 0."""
    batch = len(lengths)
    total = sum(lengths) if packed else lengths[0]
    rows = (dim, total) if packed else (batch, dim, total)
    columns = (groups, n, total) if packed else (batch, groups, n, total)
    slots = batch + 3
    low = -3.0 if delta_softplus else 0.0
    u, z = make.normal(rows, dtype), make.normal(rows, dtype)
    delta = make.uniform(rows, dtype, low=low, high=0.5)
    if delta_softplus:
        # On either side of the place from which softplus is the identity.
        delta = make.sprinkle(delta, (19.375, 25.0))
    a = make.uniform((dim, n), torch.float32, low=-1.0, high=-0.05)
    b, c = make.normal(columns, dtype), make.normal(columns, dtype)
    skip = make.normal((dim,), torch.float32) if opts & 1 else None
    bias = make.uniform((dim,), torch.float32, low=0.0, high=0.5) if opts & 4 else None
    starts = torch.tensor((0, *lengths)).cumsum(0).int() if packed else None
    index = make.permutation(slots)[:batch].int() if indexed != "none" else None
    if indexed == "pads" and index is not None:
        index[batch // 2] = PAD
    has = make.integers((batch,), torch.bool) if initial else None
    if has is not None:
        has[:1] = True
    more: tuple[Any, ...] = ()
    if blocks:
        counts = [max(1, -(-length // blocks)) for length in (lengths if packed else lengths[:1] * batch)]
        width = max(counts) + 2
        slots = batch * width + 2
        index = make.permutation(slots)[: batch * width].view(batch, width).int()
        first = make.integers((batch,), torch.int32, low=0, high=2)
        last = first + torch.tensor(counts, dtype=torch.int32) - 1
        more = (blocks, first, last, torch.full((batch,), width - 1, dtype=torch.int32))
    states = make.normal((slots, dim, n), state_dtype or dtype)
    return make.call(
        u, delta, a, b, c, skip, z if opts & 2 else None, bias, delta_softplus, starts, index, has, states, PAD, *more
    )


def jitter(rng: random.Random, params: dict[str, Any]) -> dict[str, Any]:
    """Other sizes and lengths."""
    packed = params.get("packed", True)
    count = rng.randint(1, 3)
    lengths = [rng.randint(1, 12) for _ in range(count)] if packed else [rng.randint(1, 12)] * count
    groups = rng.choice((1, 2))
    sizes = {"dim": groups * rng.randint(1, 20), "n": rng.randint(1, 20), "groups": groups, "lengths": lengths}
    return {**params, **sizes, "opts": rng.randint(0, 7), "initial": rng.random() < 0.5}


SHAPE = "dim,n,groups,lengths"
PUBLISHED = (
    (16, 8, 1, (1,)), (32, 16, 1, (3, 5)), (64, 16, 1, (7, 3, 12, 1)), (128, 32, 2, (16, 32)), (256, 16, 4, (64, 32, 48)),
)  # fmt: skip
FLOATS = ("float16", "bfloat16", "float32")
_PUBLISHED_MORE: dict[str, Any] = {
    "initial": (False, True), "opts": (0, 1, 3, 7), "delta_softplus": (False, True), "dtype": ("float16", "bfloat16"),
}  # fmt: skip
_MORE: dict[str, Any] = {
    "dtype": FLOATS, "opts": (0, 2, 5, 7), "delta_softplus": (False, True), "initial": (False, True),
    "state_dtype": (None, "float32"),
}  # fmt: skip
_PACKED: dict[str, Any] = {"indexed": ("none", "order", "pads"), **_MORE}
_EVEN: dict[str, Any] = {**_PACKED, "packed": (False,), "opts": (0, 7), "indexed": ("none", "order")}
GRIDS = {
    "paper": (
        grids.product(timed=True, **axes(SHAPE, PUBLISHED[3:]), **_PUBLISHED_MORE),
        grids.product(**axes(SHAPE, PUBLISHED[:3]), **_PUBLISHED_MORE),
        grids.pairwise(
            origin="extra",
            **axes(SHAPE, ((64, 16, 1, (1, 128, 0, 256)), (4, 8, 2, (1024, 7)), (70, 64, 1, (33, 9)))),
            **_PACKED,
        ),
        grids.pairwise(origin="extra", **axes(SHAPE, ((64, 16, 1, (256, 256)), (4, 8, 2, (128, 128, 128)))), **_EVEN),
        grids.pairwise(origin="extra", **axes(SHAPE, ((8, 16, 1, (1025, 3)),)), blocks=(1024,), **_MORE),
        grids.points(
            {SHAPE: (64, 16, 1, (2500, 1024)), "dtype": "float16", "opts": 7, "delta_softplus": True, "initial": True,
             "blocks": 1024, "state_dtype": "float32"},
            {SHAPE: (48, 16, 2, (4096,)), "dtype": "float32", "opts": 5, "delta_softplus": True, "initial": False},
            {SHAPE: (48, 16, 2, (4096,)), "dtype": "bfloat16", "opts": 7, "delta_softplus": False, "initial": True},
        ),
    ),
    "quick": (
        grids.pairwise(**axes(SHAPE, ((5, 8, 1, (2, 0, 3)), (6, 12, 2, (1, 4)), (40, 16, 1, (3,)))), **_PACKED),
        grids.pairwise(**axes(SHAPE, ((6, 4, 2, (3, 3)), (3, 8, 1, (2, 2)))), **_EVEN),
        grids.pairwise(**axes(SHAPE, ((5, 8, 1, (5, 2)), (4, 4, 2, (1, 6)))), blocks=(2,), **_MORE),
    ),
    "smoke": (
        grids.points(
            {SHAPE: (4, 8, 1, (3, 2)), "dtype": "float16", "opts": 7, "delta_softplus": True, "initial": True, "indexed": "pads"},
            {SHAPE: (4, 4, 2, (3, 3)), "dtype": "float32", "opts": 0, "delta_softplus": False, "initial": False, "packed": False},
            origin="paper",
        ),
    ),
}  # fmt: skip

OPERATOR = entry(
    "selective_scan_fwd(u: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, "
    "D_: torch.Tensor | None, z_: torch.Tensor | None, delta_bias_: torch.Tensor | None, delta_softplus: bool, "
    "query_start_loc: torch.Tensor | None, cache_indices: torch.Tensor | None, has_initial_state: torch.Tensor | None, "
    "ssm_states: torch.Tensor, pad_slot_id: int, block_size: int = 1024, "
    "block_idx_first_scheduled_token: torch.Tensor | None = None, "
    "block_idx_last_scheduled_token: torch.Tensor | None = None, initial_state_idx: torch.Tensor | None = None) -> None",
    build=build,
    oracle=scan.oracle,
    touched=scan.touched,
    grids=GRIDS,
    jitter=jitter,
    writes=("delta", "z_", "ssm_states"),
    compare=scan.COMPARE,
    description=(
        "For each sequence and channel d, with the state h (N numbers) from a cache or 0, step by step in fp32: dt = "
        "delta + delta_bias[d] (then log(1 + exp(dt)) where delta_softplus and dt <= 20); h = exp(dt * A[d]) * h + dt * "
        "B * u; y = sum over n of C * h, + D[d] * u. y is written into delta, y * z * sigmoid(z) into z_ where that is "
        "given, and the last state into the cache."
    ),
    notes=(
        (
            "Written: delta, z_ (where given), ssm_states. With query_start_loc (int32, batch + 1) the sequences lie one "
            "after the other: u, delta, z_ are (dim, total), B and C (groups, N, total), sequence i is columns "
            "query_start_loc[i] to query_start_loc[i + 1] - 1, maybe none: then nothing of it is written. Without: (batch, "
            "dim, L) and (batch, groups, N, L). They have one type, fp16, bf16 or fp32. A is fp32 (dim, N), D_ and "
            "delta_bias_ fp32 (dim,). Channel d uses group d // (dim / groups)."
        ),
        (
            "ssm_states is (slots, dim, N) of u's type or fp32. Sequence i has slot cache_indices[i] (int32), or i where "
            "cache_indices is None. If that is pad_slot_id, nothing of the sequence is written. h starts from "
            "ssm_states[slot] where has_initial_state is given and has_initial_state[i], else from 0; the last h is "
            "rounded to the cache's type and stored there. z_ gets the product with the unrounded y. Other slots keep "
            "their bits."
        ),
        (
            "With block_idx_first_scheduled_token, block_idx_last_scheduled_token and initial_state_idx (int32, batch), "
            "cache_indices is (batch, P) without pads: the initial state is in slot cache_indices[i, "
            "initial_state_idx[i]]; after every block_size tokens of the sequence, the c-th time, h is stored in slot "
            "cache_indices[i, first[i] + c], and the last h in cache_indices[i, last[i]]:\n"
            "  tokens   | block 0    | block 1        | rest      |\n"
            "  state to   [first]      [first + 1]      [last]"
        ),
        "Judged as recurrences in fp32, by the same formulas on magnitudes; outputs are rounded once.",
    ),
    family="selective_scan",
)
