"""Steps of a vector environment that have begun and not been handed out yet: who is in flight, who has come back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError

from kgb_gym.envs.env import Pending
from kgb_gym.verdict import Verdict


class InFlight:
    """At most one begun step for each sub-environment. Used by one thread, as the environment is."""

    def __init__(self) -> None:
        self._steps: dict[int, Pending] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._steps))

    def add(self, number: int, step: Pending) -> None:
        self._steps[number] = step

    def refuse(self, numbers: Iterable[int], call: str) -> None:
        """Raises:
        AlreadyPendingCallError: one of these sub-environments is in flight.
        """
        if busy := sorted(set(numbers) & set(self._steps)):
            some = ", ".join(map(str, busy[:8])) + (", …" if len(busy) > 8 else "")
            raise AlreadyPendingCallError(f"`{call}` while sub-environment {some} is in flight: `recv` first", call)

    def take(self, at_least: int, timeout: float | None) -> list[tuple[int, Pending]]:
        """Wait for so many steps, or for all if they are fewer, and take out every one that is ready.

        Args:
            at_least: at least 1.
            timeout: seconds; None: as long as it takes.

        Returns:
            Sub-environment and step, by number.

        Raises:
            NoAsyncCallError: nothing is in flight.
            TimeoutError: too few were ready in time; all of them stay in flight.
            ValueError: `at_least` is below 1.
        """
        if at_least < 1:
            raise ValueError(f"at_least must be at least 1, got {at_least}")
        if not self._steps:
            raise NoAsyncCallError("`recv` with nothing in flight: `send` first", "send")
        wanted = min(at_least, len(self._steps))
        until = None if timeout is None else time.monotonic() + timeout
        while len(ready := [n for n, step in sorted(self._steps.items()) if _ready(step)]) < wanted:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"{len(ready)} of {wanted} sub-environments were ready within {timeout:g} s")
            running: list[Future[Verdict]] = [s.future for s in self._steps.values() if s.future and not _ready(s)]
            wait(running, timeout=left, return_when=FIRST_COMPLETED)
        return [(number, self._steps.pop(number)) for number in ready]

    def drop(self) -> None:
        """Forget all of them; verifications that have not begun never will."""
        for step in self._steps.values():
            if step.future is not None:
                step.future.cancel()
        self._steps.clear()


def _ready(step: Pending) -> bool:
    return step.future is None or step.future.done()
