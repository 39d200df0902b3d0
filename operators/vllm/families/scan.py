"""The selective scan: its definition, the same on magnitudes, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators.compare import Arguments, Close
from kgb_gym.operators.vllm.families.judging import Each

SLACK = 16.0
"""Twice the usual factor: errors of exp in one step stay in the state for many."""


@dataclass(frozen=True)
class Sequence:
    """One sequence of a call."""

    batch: int | None
    """Its place in a batch of equal lengths; None: sequences lie one after the other."""
    start: int
    stop: int
    source: int
    """Slot of its initial state; -1: it starts from zero."""
    stores: Mapping[int, int]
    """Slot for the state after so many tokens."""

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Its part of u, delta, z, B or C."""
        whole = tensor if self.batch is None else tensor[self.batch]
        return whole[..., self.start : self.stop]


def sequences(arguments: Mapping[str, Any]) -> Iterator[Sequence]:
    """The sequences of which something is written."""
    starts: Any = arguments.get("query_start_loc")
    index: Any = arguments.get("cache_indices")
    has, first = arguments.get("has_initial_state"), arguments.get("block_idx_first_scheduled_token")
    count = arguments["u"].shape[0] if starts is None else starts.numel() - 1
    for i in range(count):
        begin, end = (0, arguments["u"].shape[-1]) if starts is None else (int(starts[i]), int(starts[i + 1]))
        if begin == end:
            continue
        stores = {}
        if first is not None:
            block = arguments["block_size"]
            stores = {t: int(index[i, int(first[i]) + t // block - 1]) for t in range(block, end - begin, block)}
            stores[end - begin] = int(index[i, int(arguments["block_idx_last_scheduled_token"][i])])
            slot = int(index[i, int(arguments["initial_state_idx"][i])])
        else:
            slot = i if index is None else int(index[i])
            if slot == arguments["pad_slot_id"]:
                continue
            stores[end - begin] = slot
        yield Sequence(
            i if starts is None else None, begin, end, slot if has is not None and bool(has[i]) else -1, stores
        )


def run(arguments: Mapping[str, Any], of: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, torch.Tensor]:
    """Everything that is written, in float64; `of` is applied to every number that a sum's term has as a factor: the
    identity for the answer, the magnitude for how large terms are."""
    delta, z, states = arguments["delta"], arguments["z_"], arguments["ssm_states"]
    bias, skip, rate = arguments["delta_bias_"], arguments["D_"], arguments["A"].double()
    out = {"delta": delta.double(), "ssm_states": states.double()}
    if z is not None:
        out["z_"] = z.double()
    for one in sequences(arguments):
        u, dt = of(one.of(arguments["u"]).double()), one.of(delta).double()
        b, c = (of(one.of(arguments[n]).double()) for n in ("B", "C"))
        dim, n = rate.shape
        b, c = (t.repeat_interleave(dim // t.shape[0], 0) for t in (b, c))
        if bias is not None:
            dt = dt + bias.double()[:, None]
        if arguments["delta_softplus"]:
            dt = torch.where(dt <= 20, torch.log1p(torch.exp(dt)), dt)
        h = of(states[one.source].double()) if one.source >= 0 else torch.zeros(dim, n, dtype=torch.float64)
        # Time first: (tokens, dim, N).
        decay = torch.exp(dt.T[..., None] * rate)
        history = b.permute(2, 0, 1) * (of(dt) * u).T[..., None]
        for t in range(one.stop - one.start):
            h = torch.addcmul(history[t], decay[t], h)
            history[t] = h
        for tokens, slot in one.stores.items():
            out["ssm_states"][slot] = history[tokens - 1]
        y = (c.permute(2, 0, 1) * history).sum(-1).T
        if skip is not None:
            y = y + of(skip.double())[:, None] * u
        one.of(out["delta"])[...] = y
        if z is not None:
            gate = one.of(z).double()
            one.of(out["z_"])[...] = y * of(gate * torch.sigmoid(gate))
    return out


def oracle(**arguments: Any) -> dict[str, torch.Tensor]:
    """The written arguments after the call."""
    return run({"block_size": 1024, **arguments}, lambda x: x)


def touched(**arguments: Any) -> dict[str, torch.Tensor]:
    """Which elements may change: those of the sequences, and the slots that get a state."""
    arguments = {"block_size": 1024, **arguments}
    names = [n for n in ("delta", "z_", "ssm_states") if arguments[n] is not None]
    masks = {n: torch.zeros(arguments[n].shape, dtype=torch.bool) for n in names}
    for one in sequences(arguments):
        for name in names[:-1]:
            one.of(masks[name])[...] = True
        for slot in one.stores.values():
            masks["ssm_states"][slot] = True
    return masks


def _gate(name: str) -> Close:
    def magnitude(arguments: Arguments) -> torch.Tensor:
        return run({"block_size": 1024, **arguments}, torch.abs)[name].abs()

    def depth(arguments: Arguments) -> int:
        return int(arguments["u"].shape[-1] * arguments["A"].shape[1])

    return Close(depth=depth, scale=magnitude, slack=SLACK)


COMPARE = Each({name: _gate(name) for name in ("delta", "z_", "ssm_states")})
