"""The cases of one verification, one after the other: while the player plays one, the judge makes the next one ready, and
while it compares one, the player plays the next.

What comes of a case is decided in order, as if nothing overlapped: what goes wrong with a later one waits its turn. One
further thread only talks to the player; others may make inputs and oracles ahead (`foresight`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kgb_gym.verdict import Status
from kgb_gym.verification.foresight import Foresight
from kgb_gym.verification.playing import Ask, Prepared, judge_case, prepare
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.session import Failure, Session, Trial


def play_cases(
    session: Session, kernels: Kernels, foresight: Foresight, ask: Ask, end: Callable[[], object]
) -> None:  # fmt: skip
    """Judge every recorded case; the outcomes are left on the trials.

    Args:
        session: with its trials recorded.
        kernels: the submission's jitted functions.
        foresight: of the session's trials.
        ask: one exchange with the player.
        end: ends the player, so that no exchange goes on. Called where the verification ends early.

    Raises:
        Failure: a hack, or the player's end.
    """
    run = _Run(session, kernels, foresight, ask)
    try:
        with session.clock("judge"):
            run.carry_out()
    except BaseException:
        end()
        raise
    finally:
        if run.pending is not None:
            end()
        run.talker.shutdown()
    session.durations["judge"] -= run.waited


class _Run:
    def __init__(self, session: Session, kernels: Kernels, foresight: Foresight, ask: Ask) -> None:
        self._session, self._kernels, self._foresight, self._ask = session, kernels, foresight, ask
        self.talker = ThreadPoolExecutor(1, thread_name_prefix="kgb-player")
        self.pending: Future[Any] | None = None
        """The answer to the next case's question, which is asked ahead."""
        self.waited = 0.0
        """Wall seconds in which the judge had nothing to do."""

    def carry_out(self) -> None:
        trials = self._session.trials
        ready = self._prepared(trials[0]) if trials else None
        asked = self._begin(ready)
        for trial, following in zip(trials, [*trials[1:], None], strict=True):
            assert ready is not None
            ahead = self._session.job.pipelined and not isinstance(ready, Failure)
            coming = self._prepared(following) if ahead and following is not None else None
            answer = self._wait(asked) if asked is not None else None
            failed = answer is not None and (answer.exception() is not None or "error" in answer.result()[0])
            # A player that raised or died may have nothing more to say: the next case waits for what that means.
            self.pending = self._begin(coming) if not failed else None
            if not self._judged(trial, ready, answer):
                return
            if following is not None and coming is None:
                coming = self._prepared(following)
            ready, asked, self.pending = coming, self.pending or self._begin(coming), None

    def _prepared(self, trial: Trial) -> Prepared | Failure:
        try:
            return prepare(self._session, trial, self._kernels, self._foresight)
        except Failure as failure:
            return failure

    def _begin(self, ready: Prepared | Failure | None) -> Future[Any] | None:
        if not isinstance(ready, Prepared) or not ready.question:
            return None
        subject, doing = ready.subject, f"running the kernels of {ready.trial.case.id}"
        assert subject is not None
        return self.talker.submit(self._ask, dict(ready.question), subject.blobs, doing, ready.max_blobs)

    def _wait(self, asked: Future[Any]) -> Future[Any]:
        began = time.perf_counter()
        asked.exception()
        self.waited += time.perf_counter() - began
        return asked

    def _judged(self, trial: Trial, ready: Prepared | Failure, answer: Future[Any] | None) -> bool:
        """Whether there is anything more to judge."""
        try:
            if isinstance(ready, Failure):
                raise ready
            judge_case(self._session, ready, lambda: answer.result() if answer else None, self._more)
        except Failure as failure:
            if failure.status is not Status.RUNTIME_ERROR or failure.fatal:
                raise
            trial.raised = failure
        return trial.ok or not self._session.job.fail_fast

    def _more(self, question: dict[str, Any], blobs: Any, doing: str, max_blobs: int) -> Any:
        return self._wait(self.talker.submit(self._ask, question, blobs, doing, max_blobs)).result()
