"""One exchange with a worker, and what a submission's failure in it comes to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from kgb_gym.verdict import Hack, Status
from kgb_gym.verification import wire
from kgb_gym.verification.answers import Forged, error_of
from kgb_gym.verification.protocols import Ended
from kgb_gym.verification.session import Failure, Session, Worker


@contextlib.contextmanager
def working(session: Session, role: str) -> Iterator[Worker]:
    """A worker of a role for the block; it is killed with it."""
    worker = Worker(session, role)
    try:
        yield worker
    finally:
        with session.clock("end"):
            worker.leave()


def exchange(
    session: Session, worker: Worker, head: dict[str, Any], blobs: Any = (), *, seconds: float, doing: str,
    max_blobs: int = 1 << 40,
) -> Any:  # fmt: skip
    """Ask a worker, which shares the device meanwhile; its end, silence or nonsense becomes the submission's failure.

    Args:
        session: the verification.
        worker: which.
        head: the question, as JSON.
        blobs: what goes with it.
        seconds: wall seconds it may take.
        doing: what it does, in words.
        max_blobs: bytes that the answer may carry.

    Raises:
        Failure: a timeout, a crash, memory, or a forged answer.
    """
    try:
        worker.ready()
        with session.lease(exclusive=False):
            deadline = min(time.monotonic() + seconds, session.deadline)
            return worker.ask(head, blobs, deadline=deadline, max_blobs=max_blobs)
    except wire.Late as error:
        worker.end()
        limit = f"{seconds:g} s" if deadline < session.deadline else f"{session.job.limits.correctness_s:g} s in all"
        raise Failure(Status.TIMEOUT, f"{doing} did not end within {limit}") from error
    except wire.WireError as error:
        worker.end()
        raise Failure(Status.HACK, f"{doing}: a forged answer ({error})", hacks=(
            Hack("state", "forged-answer", f"while {doing}, the process sent something that is no answer: {error}"),
        )) from error  # fmt: skip
    except wire.Closed as error:
        raise _died(worker.end(), doing) from error


def _died(ended: Ended, doing: str) -> Failure:
    if ended.out_of_memory:
        return Failure(Status.OUT_OF_MEMORY, f"{doing} used more memory than allowed and was ended")
    if ended.status is not None and ended.status < 0:
        import signal

        name = signal.Signals(-ended.status).name if -ended.status in set(signal.Signals) else str(-ended.status)
        return Failure(Status.CRASH, f"{doing} ended by {name}")
    return Failure(Status.CRASH, f"{doing} left with exit status {ended.status} without an answer")


def error_in(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The exception that an answer tells of; None if it tells of none.

    Raises:
        Failure: it is no answer.
    """
    try:
        return error_of(answer)
    except Forged as forged:
        raise no_answer() from forged


def as_failure(error: dict[str, Any], doing: str) -> Failure:
    """An exception, as data, as the submission's failure."""
    kind, text = str(error.get("type")), str(error.get("trace") or error.get("text"))
    line = error.get("line")
    if kind in {"MemoryError", "OutOfMemoryError"} or (kind == "RuntimeError" and "can't allocate memory" in text):
        return Failure(Status.OUT_OF_MEMORY, f"{doing} ran out of memory:\n{text}", line=line)
    return Failure(Status.RUNTIME_ERROR, f"{doing} raised an exception:\n{text}", line=line)


def no_answer() -> Failure:
    """Something else than an answer came: a hack."""
    text = "the recorder's answer is none"
    return Failure(Status.HACK, text, hacks=(Hack("state", "forged-answer", text),))
