"""What an agent's own output says of the tokens it used, line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kgb_gym.baselines.models import wire
from kgb_gym.baselines.models.anthropic_messages import usage as anthropic_usage
from kgb_gym.envs.tokens import Usage


class Reader(Protocol):
    """Follows one agent's output."""

    def feed(self, line: str) -> None:
        """One line of its standard output."""
        ...

    @property
    def usage(self) -> Usage | None:
        """Tokens so far; None if the output tells none."""
        ...


@dataclass
class ClaudeCode:
    """`--output-format stream-json`: one object a message, and a last one, `result`, with the sums.

    A message that comes in several objects repeats its usage, so each message id counts once, with what it said last.
    """

    _each: dict[str, Usage] = field(default_factory=dict)
    _total: Usage | None = None

    def feed(self, line: str) -> None:
        event = parsed(line)
        if event.get("type") == "assistant" and isinstance(message := event.get("message"), dict):
            if (counts := anthropic_usage(message.get("usage"))) is not None:
                self._each[str(message.get("id"))] = counts
        elif event.get("type") == "result" and (counts := anthropic_usage(event.get("usage"))) is not None:
            self._total = counts

    @property
    def usage(self) -> Usage | None:
        summed = total(self._each.values()) if self._each else None
        if self._total is None or (summed is not None and summed.total > self._total.total):
            return summed
        return self._total


@dataclass
class OpenCode:
    """`--format json`: an event `step_finish` a step, with `part.tokens`: `input`, `output`, `reasoning`, `cache`."""

    _steps: list[Usage] = field(default_factory=list)

    def feed(self, line: str) -> None:
        event = parsed(line)
        part = event.get("part")
        if event.get("type") != "step_finish" or not isinstance(part, dict):
            return
        tokens = part.get("tokens")
        if isinstance(tokens, dict):
            given = tokens.get("cache")
            cache: dict[str, Any] = given if isinstance(given, dict) else {}
            read, written = wire.number(cache.get("read")), wire.number(cache.get("write"))
            prompt = wire.number(tokens.get("input")) + read + written
            answer = wire.number(tokens.get("output")) + wire.number(tokens.get("reasoning"))
            self._steps.append(wire.usage(prompt, answer, read))

    @property
    def usage(self) -> Usage | None:
        return total(self._steps) if self._steps else None


def parsed(line: str) -> Mapping[str, Any]:
    """A line as a JSON object; empty if it is none."""
    line = line.strip()
    if not line.startswith("{"):
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def total(each: Any) -> Usage:
    """The sum of usages."""
    found = list(each)
    return Usage(*(sum(getattr(u, n) for u in found) for n in ("prompt_tokens", "completion_tokens", "cached_tokens")))


def since(now: Usage, before: Usage) -> Usage:
    """What was added."""
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return Usage(*(max(0, getattr(now, n) - getattr(before, n)) for n in names))
