"""A loopback server that stands in for a model which fails at first and learns: faulty drafts, then the gold kernel.

It lets a run be rehearsed from end to end, SDK and wire included, without a key or a model. What it writes is labelled
`synthetic`, and proves nothing of any model.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter

from kgb_gym.baselines.drafts import SLOW, Draft, drafts
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer, Request
from kgb_gym.operators import gold_source

MODEL = "stand-in"
MOST = 2
"""Drafts before the gold kernel, at most."""

_OPERATOR = re.compile(r"implements the operator `([^`]+)`")


class Rehearsal:
    """The script: the n-th question about an operator gets its n-th draft, and after the last one the gold kernel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()

    def __call__(self, request: Request) -> Answer:
        """The answer to one request; 400 where no operator is named, or it has no gold kernel."""
        found = _OPERATOR.search(request.text)
        if found is None:
            return Answer(status=400, error="the conversation names no operator")
        name = found[1]
        with self._lock:
            number = self._asked[name]
            self._asked[name] += 1
        try:
            chosen = _chosen(name)
            draft = chosen[number] if number < len(chosen) else None
            source = draft.source if draft else gold_source(name)
        except (FileNotFoundError, LookupError) as error:
            return Answer(status=400, error=str(error))
        said = draft.said if draft else "This version follows the specification step by step."
        return Answer(f"{said}\n\n```python\n{source.rstrip()}\n```\n")


def server() -> LoopbackServer:
    """A running server; whoever asked for it closes it."""
    return LoopbackServer(Rehearsal(), models=(MODEL,))


def _chosen(name: str) -> tuple[Draft, ...]:
    """Up to `MOST` drafts, the same for an operator every time; none that runs until it is killed."""
    every = [d for d in drafts(name) if not (name == SLOW and d.name == "infinite_loop")]
    digest = hashlib.sha256(name.encode()).digest()
    count = min(digest[0] % (MOST + 1), len(every))
    first = digest[1] % max(1, len(every) - count + 1)
    return tuple(every[first : first + count])
