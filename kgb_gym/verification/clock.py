"""The timed part of a verification: what the judge asks of the player once every case is right, and what it believes.

The player times (see `timing`); the judge draws one case that is looked at twice: what ran on the GPU while it was
timed (`profile`), and whether the answer is still right afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kgb_gym.operators.baseline import resolve
from kgb_gym.verdict import Hack, Status, Timing
from kgb_gym.verification import profile, wire
from kgb_gym.verification.gauge import Gauge, Watch, summary
from kgb_gym.verification.one_ahead import one_ahead
from kgb_gym.verification.plan import derive
from kgb_gym.verification.playing import judge_again
from kgb_gym.verification.rebuild import Kernels
from kgb_gym.verification.session import Failure, Session, Trial, Worker
from kgb_gym.verification.subject import play_call
from kgb_gym.verification.tensors import pack

WALL_FACTOR, WALL_SLACK_US = 5.0, 1000.0
"""How much longer a run may take by wall clock than by device events: launches on a busy machine are in the slack."""


def time_all(session: Session, player: Worker, kernels: Kernels) -> None:
    """Time the paper's timed cases that are right; nothing is timed unless every case is.

    Raises:
        Failure: the profile or the answer after the timed loop shows a hack.
        profile.Lost: CUDA cannot be observed on this machine.
    """
    trials = [t for t in session.trials if t.case.timed]
    if not trials or not all(t.ok for t in session.trials):
        return
    if session.operator.data_dependent:
        session.notes.append("not timed: the launches of this operator depend on values")
        return
    session.baseline = resolve(session.operator, trials[0].interface, session.platform.name).label
    limit = session.job.limits.performance_s
    looked = trials[derive(session.job, "look") % len(trials)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(session.lease(exclusive=True))
        stack.enter_context(session.clock("time"))
        watch = Watch(Gauge(), session.spawner.visible)
        stack.callback(_note_clocks, session, watch)
        stack.enter_context(watch)
        calls = stack.enter_context(one_ahead(session.threads.ahead > 0, trials, lambda t: pack(play_call(session, t))))
        deadline = time.monotonic() + limit
        for number, trial in enumerate(trials):
            left = deadline - time.monotonic()
            if left <= 0:
                session.notes.append(f"timing stopped after {number} of {len(trials)} cases: {limit:g} s were spent")
                return
            tree, blobs = next(calls)
            for calibrate in (True, False) if number == 0 else (False,):
                question = {**trial.timing_question, "call": tree, "do": "time", "calibrate": calibrate,
                            "look": trial is looked and not calibrate,
                            "timer": asdict(session.job.timer),
                            "budget_s": min(session.job.timer.case_s, left / (len(trials) - number) / 2)}  # fmt: skip
                try:
                    answer, out = player.ask(question, blobs, deadline=deadline)
                except (wire.Late, wire.Closed, wire.WireError) as error:
                    session.notes.append(f"timing {trial.case.id} failed: {type(error).__name__}")
                    return
                if "untimed" in answer:
                    session.baseline = answer["untimed"]
                    return
                if "error" in answer:
                    session.notes.append(f"timing {trial.case.id} failed: {answer['error'].get('text')}")
                    continue
                timing = Timing(**{**answer["timing"], "interval": tuple(answer["timing"]["interval"])})
                if calibrate:
                    session.calibration = timing
                elif doubt := _doubt(timing, answer["wall"]):
                    session.notes.append(f"{trial.case.id} is not timed: {doubt}")
                else:
                    trial.timing = timing
                if question["look"]:
                    _look(session, trial, kernels, answer, out)
        session.ran("clock")


def _note_clocks(session: Session, watch: Watch) -> None:
    session.clocks = summary(session.spawner.visible, watch.readings)
    if session.clocks is not None and session.clocks.throttled:
        session.notes.append(
            f"the GPU was slowed down in {session.clocks.throttled_share:.0%} of its readings while it was timed: "
            + ", ".join(session.clocks.throttled)
        )


def _doubt(timing: Timing, wall: Mapping[str, float]) -> str:
    """Why the device time is not believed: the wall clock says something else; empty if it agrees."""
    most = WALL_FACTOR * timing.submission_us + WALL_SLACK_US
    if wall["us"] <= most:
        return ""
    return (
        f"by device events a run takes {timing.submission_us:.1f} us, by wall clock over {wall['count']:g} runs "
        f"{wall['us']:.1f} us"
    )


def _look(session: Session, trial: Trial, kernels: Kernels, answer: Mapping[str, Any], out: Any) -> None:
    judge_again(session, trial, kernels, answer, out)
    if not trial.ok:
        trial.timing = None
    if not trial.launches or not session.operator.kernel_required or not session.uses("profile"):
        return
    session.profile = profile.judge(answer["profile"], kernels.names, trial.case.id)
    session.ran("profile")
    if why := profile.verdict(session.profile):
        raise Failure(Status.HACK, why, hacks=(Hack("profile", "decoy", why),), case=trial.case.id)
