"""Carries out episodes with a few worker threads. Threads suffice: a worker waits for its verification or its model.

Not covered: ending an episode in the midst of a turn. Stopping lets the turns that have begun come to their end.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from kgb_gym.runs.plan import Episode

POLL_S = 0.05
"""How often the waiting thread looks up."""

Worker = Callable[[Callable[[], Episode | None]], None]
"""Called once a thread with a function that gives the next episode, or None when there is no more to do."""


class Waiting:
    """The episodes that are still to be begun, in order. Safe to share between threads."""

    def __init__(self, episodes: Iterable[Episode], *, in_turn: bool = False) -> None:
        """
        Args:
            episodes: in the order in which they are begun.
            in_turn: an operator's samples are played one after the other, and only as far as they are needed: all
                first ones, then the second ones of the operators that still have none to stop at (Algorithm 2).
        """
        self._ready: deque[Episode] = deque()
        self._held: dict[str, deque[Episode]] = {}
        for episode in episodes:
            if in_turn and episode.operator in self._held:
                self._held[episode.operator].append(episode)
            else:
                self._ready.append(episode)
                if in_turn:
                    self._held[episode.operator] = deque()
        self._turn = threading.Condition()

    def __len__(self) -> int:
        return len(self._ready) + sum(len(held) for held in self._held.values())

    def take(self, stop: Stop) -> Episode | None:
        """The next episode; waits for one that depends on another in work. None: there is no more to do."""
        with self._turn:
            while not stop.asked:
                if self._ready:
                    return self._ready.popleft()
                if not any(self._held.values()):
                    return None
                self._turn.wait(POLL_S)
        return None

    def done(self, episode: Episode, *, enough: bool) -> int:
        """Tell that an episode is over.

        Args:
            episode: one that was taken.
            enough: the operator needs no further samples.

        Returns:
            How many episodes that makes needless.
        """
        with self._turn:
            held = self._held.get(episode.operator, deque())
            dropped = len(held) if enough else 0
            if enough:
                held.clear()
            elif held:
                self._ready.append(held.popleft())
            self._turn.notify_all()
        return dropped


class Stop:
    """Set when nothing further may be begun. Raised where an episode in work has to end."""

    class Asked(BaseException):
        """The run was asked to stop between two turns."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def ask(self) -> None:
        """Ask every worker to stop."""
        self._event.set()

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises:
        Stop.Asked: the run was asked to stop.
        """
        if self.asked:
            raise Stop.Asked


def carry_out(waiting: Waiting, worker: Worker, workers: int, stop: Stop, on_stop: Callable[[], None]) -> bool:
    """Run `worker` in so many threads until no episode is left or a stop is asked for.

    The first interrupt (Ctrl-C) asks for a stop and waits; the second one is raised.

    Args:
        waiting: what is to be done.
        worker: see `Worker`; an exception that leaves it ends the run.
        workers: how many threads, at least 1.
        stop: asked when the run shall end.
        on_stop: called once, at the first interrupt.

    Returns:
        Whether the run was interrupted.

    Raises:
        KeyboardInterrupt: interrupted twice.
    """
    failures: list[BaseException] = []

    def body() -> None:
        try:
            worker(lambda: waiting.take(stop))
        except Stop.Asked:
            pass
        except BaseException as error:  # noqa: BLE001  # raised again by the waiting thread
            failures.append(error)
            stop.ask()

    def wait() -> None:
        # Not `Thread.join`: interrupted, Python 3.11 takes the thread for ended although it still runs.
        while any(thread.is_alive() for thread in threads):
            time.sleep(POLL_S)

    threads = [threading.Thread(target=body, name=f"kgb-run-{i}", daemon=True) for i in range(workers)]
    interrupted = False
    try:
        for thread in threads:
            thread.start()
        wait()
    except KeyboardInterrupt:
        interrupted = True
        stop.ask()
        on_stop()
        wait()
    if failures:
        raise failures[0]
    return interrupted
