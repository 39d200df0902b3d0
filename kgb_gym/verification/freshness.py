"""Freshness: a submission may keep configuration between calls, never answers.

One case, drawn for this submission, is recorded again at once, and a third time after all others, each time with the very
same tensors and other values in them. Everything that a wrapper could recognise is as it was, so the records must be
equal: a difference means that launches, grids, scalars or data movement follow the values or what earlier calls left.
Not covered: cases that are not drawn; every one of them is still played on values and addresses of its own.
"""

from __future__ import annotations

import json
from typing import Any

from kgb_gym.operators import Maker
from kgb_gym.verdict import Hack, Status
from kgb_gym.verification.plan import derive
from kgb_gym.verification.session import Failure, Session, Trial
from kgb_gym.verification.subject import readable
from kgb_gym.verification.tensors import pack

LAYER, RULE = "state", "stale"


def first_candidate(session: Session) -> int | None:
    """Number of the first trial that may be the one recorded twice; None where calls are judged as they happen."""
    job = session.job
    if session.operator.data_dependent or job.kind != "verify" or not session.uses(LAYER) or not session.trials:
        return None
    return derive(job, "again") % len(session.trials) // 2


def question(session: Session, trial: Trial, which: str = "") -> tuple[dict[str, Any], list[memoryview]] | None:
    """Asks for the trial's case again, with other values (and others for another `which`); None if its call takes no tensor or is another call then."""
    make = trial.interface.call
    call = make(Maker(derive(session.job, trial.case.id, "record"), tiled=True), trial.case.params)
    first, blobs = pack(call)
    tree, others = pack(
        make(Maker(derive(session.job, trial.case.id, f"record again{which}"), tiled=True), trial.case.params)
    )
    if not others or _geometry(first) != _geometry(tree) or [len(b) for b in blobs] != [len(b) for b in others]:
        return None
    # `first`, so that a generator is seeded as before
    question = {"interface": trial.case.interface, "call": first, "again": True, "last": not which}
    return {**question, "readable": readable(session.operator, trial.interface, call)}, others


def compare(first: Trial, again: Trial) -> None:
    """Whether the second record is the first.

    Raises:
        Failure: it is not (a hack), or the second call raised.
    """
    name = first.interface.function
    if again.raised is not None:
        raise Failure(
            Status.RUNTIME_ERROR,
            f"{name} raised when it was called again on the same tensors with other values in them:\n"
            f"{again.raised.message}",
            line=again.raised.line, case=first.case.id,
        )  # fmt: skip
    if _text(first.raw_record) == _text(again.raw_record):
        return
    line = _line(first.raw_record, again.raw_record)
    message = (
        f"{name} does something else when it is called again on the same tensors with other values in them: its "
        "launches, grids, numbers or copies follow the values, or what an earlier call left behind"
    )
    raise Failure(Status.HACK, message, hacks=(Hack(LAYER, RULE, message, line),), line=line, case=first.case.id)


def _geometry(tree: dict[str, Any]) -> str:
    """The call without its generators' seeds."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return "generator" if set(value) == {"g"} else {k: plain(v) for k, v in value.items()}
        return [plain(v) for v in value] if isinstance(value, list) else value

    return _text(plain(tree))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _line(first: Any, again: Any) -> int | None:
    """The line of the first launch that differs."""
    steps = [r.get("steps") if isinstance(r, dict) else None for r in (first, again)]
    if not all(isinstance(s, list) for s in steps):
        return None
    for one, other in zip(*steps, strict=False):
        if one != other:
            line = one.get("line") if isinstance(one, dict) else None
            return line if type(line) is int else None
    return None
