"""The player's kernels: loaded once, early where that lets it compile while the recorder is at work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kgb_gym.verdict import Status
from kgb_gym.verification.asking import error_in, exchange
from kgb_gym.verification.compiling import parsed
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.record import encode
from kgb_gym.verification.session import Failure, Session, Trial, Worker

EARLY = (1 / 6, 1 / 2)
"""When these shares of the cases are recorded, the player begins to compile what they launch."""


class Loading:
    """Whether and how the player has its kernels.

    Args:
        session: with its trials.
        player: None where nothing is played.
        kernels: the submission's jitted functions.
    """

    def __init__(self, session: Session, player: Worker | None, kernels: Kernels) -> None:
        self._session, self._player, self._kernels = session, player, kernels
        self._early = {int(len(session.trials) * share) for share in EARLY}
        self._recorded: list[Trial] = []
        self._asked = 0
        self._loaded = False
        self._failure: Failure | None = None

    def recorded(self, trial: Trial) -> None:
        """One more case is recorded: with some the player begins to compile what has been launched so far."""
        self._recorded.append(trial)
        if self._player is None or len(self._recorded) not in self._early or self._failure is not None:
            return
        if wanted(self._session, self._kernels):
            try:
                self.load(self._player)
                self.compile(self._player, self._recorded[self._asked :])
                self._asked = len(self._recorded)
            except Failure as failure:  # what recording shows comes first
                self._failure = failure

    def load(self, player: Worker) -> None:
        """Have the player load the kernels, if it has not.

        Raises:
            Failure: they cannot be loaded on their own, or the player ended.
        """
        if self._failure is not None:
            raise self._failure
        if self._loaded:
            return
        head = {
            "text": self._kernels.text,
            "names": sorted(self._kernels.names),
            "device": self._session.platform.device,
        }
        seconds = self._session.job.limits.call_s
        with self._session.clock("load"):
            answer, _ = exchange(self._session, player, head, seconds=seconds, doing="loading the kernels")
        if raised := error_in(answer):
            text = f"the kernels cannot be loaded on their own:\n{raised.get('trace')}"
            raise Failure(Status.COMPILE_ERROR, text)
        self._loaded = True

    def compile(self, player: Worker, trials: Sequence[Trial]) -> None:
        """Have the player compile what these cases launch, while it does other things."""
        if (asked := question(self._session, self._kernels, trials)) is not None:
            seconds = self._session.job.limits.correctness_s
            with self._session.clock("play"):
                exchange(self._session, player, asked, seconds=seconds, doing="compiling ahead", max_blobs=1 << 20)


def wanted(session: Session, kernels: Kernels) -> bool:
    """Whether anything is compiled ahead."""
    return bool(not session.platform.interpreted and session.job.pipelined and kernels.names)


def question(session: Session, kernels: Kernels, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Asks a player to compile what these cases launch; None where there is nothing to ask."""
    if not wanted(session, kernels):
        return None
    records = [(t, parsed(t, kernels, session)) for t in trials]
    told = [[encode(record), list(trial.input_bytes)] for trial, record in records if record is not None]
    return {"do": "ahead", "records": told} if told else None
