"""Inputs and oracles of later cases, made in threads of their own while the judge is busy with earlier ones.

Only what no submission has a part in is made here: the call on the playing values, what it should give, and its bytes. How
far ahead is a matter of memory. Without threads everything is made when it is asked for.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import torch

from kgb_gym.operators import Call, Expected, expected
from kgb_gym.operators.oracle import switches_default_dtype
from kgb_gym.verification.protocols import Threads
from kgb_gym.verification.session import Session, Trial
from kgb_gym.verification.subject import play_call
from kgb_gym.verification.tensors import pack

MOST_BYTES = 1 << 29
"""Inputs of cases that wait to be taken: no more are begun beyond that."""
EACH = 2
"""Cases that may wait for each thread."""


@dataclass(frozen=True)
class Foreseen:
    """What is known of a case without the submission."""

    call: Call
    want: Expected | None
    """None: not known yet, for what it takes cannot be done beside other threads."""
    blobs: list[bytes]
    """The call's storages, in order of first use."""


class Foresight:
    """Makes cases ready in the order in which they will be taken.

    Args:
        session: with its trials.
        trials: in that order.
        threads: how many to use, and for how many operations at once.
    """

    def __init__(self, session: Session, trials: Sequence[Trial], threads: Threads) -> None:
        self._session = session
        self._threads = threads
        self._todo = deque(trials)
        self._made: dict[int, Future[Foreseen]] = {}
        """By the trial's identity."""
        self._held = self._active = self._pauses = 0
        self._closed = False
        self._change = threading.Condition()
        self._workers = [
            threading.Thread(target=self._work, name=f"kgb-foresight-{n}", daemon=True) for n in range(threads.ahead)
        ]
        for worker in self._workers:
            worker.start()

    def take(self, trial: Trial) -> tuple[Call, Expected, list[bytes]]:
        """A case's call, what it should give, and the bytes of its storages; each case once.

        Raises:
            Exception: a failure of ours.
        """
        with self._change:
            future = self._made.pop(id(trial), None)
            if future is None and self._todo and self._todo[0] is trial:
                self._todo.popleft()
            self._change.notify_all()
        if future is None:
            made = self._foresee(trial)
        else:
            made = future.result()
            with self._change:
                self._held -= _size(made)
                self._change.notify_all()
        want = made.want
        if want is None:
            with self._alone():
                want = expected(self._session.operator, trial.interface, made.call)
        return made.call, want, made.blobs

    def close(self) -> None:
        """Begin nothing more, and wait for what has been begun."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        torch.set_num_threads(self._threads.each)
        while True:
            with self._change:
                self._change.wait_for(lambda: self._closed or self._room())
                if self._closed:
                    return
                trial, future = self._todo.popleft(), Future[Foreseen]()
                self._made[id(trial)] = future
                self._active += 1
            try:
                made = self._foresee(trial)
                with self._change:
                    self._held += _size(made)
                future.set_result(made)
            except BaseException as error:  # noqa: BLE001 (it is raised where the case is taken)
                future.set_exception(error)
            finally:
                with self._change:
                    self._active -= 1
                    self._change.notify_all()

    def _room(self) -> bool:
        waiting = len(self._made) < EACH * self._threads.ahead and self._held < MOST_BYTES
        return bool(self._todo) and waiting and not self._pauses

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nothing is made by other threads during the block."""
        with self._change:
            self._pauses += 1
            self._change.wait_for(lambda: not self._active)
        try:
            yield
        finally:
            with self._change:
                self._pauses -= 1
                self._change.notify_all()

    def _foresee(self, trial: Trial) -> Foreseen:
        operator = self._session.operator
        call = play_call(self._session, trial)
        made = Foreseen(call, None, [bytes(view) for view in pack(call)[1]])
        if switches_default_dtype(operator, trial.interface, call):
            return made
        return replace(made, want=expected(operator, trial.interface, call))


def _size(made: Foreseen) -> int:
    return sum(len(b) for b in made.blobs)
