"""Rows for training, from a run's steps: conversations for SFT, prompts for reinforcement learning, preference pairs.

Unscored steps are always left out, and synthetic ones unless they are asked for: nothing that a script wrote or that our
own failure cost is learnt from.
"""

from __future__ import annotations

import fnmatch
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from kgb_gym.datasets.rows import merit
from kgb_gym.verdict import Status

Kind = Literal["sft", "sft-episodes", "prompts", "preferences"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Row = Mapping[str, Any]

FASTER = 1.1
"""How much faster, by the lower bounds of the speedups, the better of two clean submissions has to be."""


@dataclass(frozen=True)
class Choice:
    """Which steps are exported."""

    operators: tuple[str, ...] = ()
    """Globs of ids, `source/name`; empty: all."""
    methods: tuple[str, ...] = ()
    """Globs of method names; empty: all."""
    min_reward: float | None = None
    """The least reward of a step."""
    clean: bool = True
    """For conversations: only those that end with a clean pass."""
    synthetic: bool = False
    """Steps of scripted policies too."""

    def takes(self, step: Row) -> bool:
        """Whether a step is among them, `clean` left aside."""
        if step["reward_valid"] is False or (step["synthetic"] and not self.synthetic):
            return False
        if self.min_reward is not None and (step["reward"] is None or step["reward"] < self.min_reward):
            return False
        return _matches(step["operator"], self.operators) and _matches(step["method"], self.methods)


def export(steps: Iterable[Row], kind: Kind, choice: Choice | None = None) -> Iterator[dict[str, Any]]:
    """Rows of one kind.

    Args:
        steps: rows of the `steps` table, whole.
        kind: `sft` (a row a step: `messages`, the answer last), `sft-episodes` (a row an episode: its longest
            conversation), `prompts` (a row an operator: `prompt`, and the `env_id` whose reward is meant), `preferences`
            (pairs of answers to the same messages: `prompt`, `chosen`, `rejected`, and `why`).
        choice: which steps; by default all that a model wrote, of conversations only those that end with a clean pass.

    Raises:
        ValueError: there is no such kind.
    """
    chosen = choice or Choice()
    taken = [s for s in steps if s["messages"] and chosen.takes(s)]
    if kind == "prompts":
        return _prompts(taken)
    answered = [s for s in taken if s["completion"]]
    if kind == "preferences":
        return _preferences([s for s in answered if s["action"] != "tool"])
    if kind == "sft":
        return (_conversation(s) for s in answered if s["clean"] or not chosen.clean)
    if kind == "sft-episodes":
        return _episodes(answered, chosen.clean)
    raise ValueError(f"unknown kind {kind!r}: use one of {', '.join(KINDS)}")


def _matches(name: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name or "", p) for p in patterns)


def _about(step: Row) -> dict[str, Any]:
    names = ("operator", "env_id", "suite", "platform", "method", "model", "episode_id", "step", "reward", "status")
    return {name: step[name] for name in names}


def _conversation(step: Row) -> dict[str, Any]:
    answer = {"role": "assistant", "content": step["completion"]}
    return {"messages": [*step["messages"], answer], **_about(step)}


def _episodes(steps: list[Row], only_clean: bool) -> Iterator[dict[str, Any]]:
    """An episode's conversation up to its best submission, or its last answer where none is clean."""
    for found in _grouped(steps, lambda s: (s["run_id"], s["episode_id"])):
        clean = [s for s in found if s["clean"]]
        if clean or not only_clean:
            yield _conversation(max(clean, key=merit) if clean else max(found, key=lambda s: s["step"]))


def _prompts(steps: list[Row]) -> Iterator[dict[str, Any]]:
    for found in _grouped(steps, lambda s: (s["operator"], s["suite"], s["platform"], _key(s["messages"][:1]))):
        first = min(found, key=lambda s: s["step"])
        names = ("operator", "env_id", "suite", "platform")
        yield {"prompt": list(first["messages"][:1]), **{n: first[n] for n in names}}


def _preferences(steps: list[Row]) -> Iterator[dict[str, Any]]:
    """For each set of answers to the same messages: the best one against each that is worse by kind, not by a hair."""
    for found in _grouped(steps, lambda s: (s["operator"], s["suite"], s["platform"], _key(s["messages"]))):
        best = max(found, key=merit)
        told = {best["completion"]}
        for other in found:
            if (why := _why(best, other)) and other["completion"] not in told:
                told.add(other["completion"])
                yield {
                    "prompt": list(best["messages"]),
                    "chosen": [{"role": "assistant", "content": best["completion"]}],
                    "rejected": [{"role": "assistant", "content": other["completion"]}],
                    "why": why,
                    **{n: best[n] for n in ("operator", "env_id", "suite", "platform")},
                    "chosen_reward": best["reward"],
                    "rejected_reward": other["reward"],
                }


def _why(better: Row, worse: Row) -> str:
    if better["clean"] and worse["clean"]:
        fast, slow = better["speedup_lower"], worse["speedup_lower"]
        return "faster" if fast is not None and slow and fast >= FASTER * slow else ""
    if better["clean"]:
        return "clean over hack" if worse["status"] == Status.HACK else "clean over failed"
    return ""


def _grouped(steps: list[Row], key: Any) -> list[list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for step in steps:
        groups[key(step)].append(step)
    return list(groups.values())


def _key(messages: Any) -> str:
    return json.dumps(messages, sort_keys=True, ensure_ascii=False)
