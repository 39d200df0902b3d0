"""From a finished session to a verdict: status, stage, clean pass, speedup, and a message in few words."""

from __future__ import annotations

import math

from kgb_gym.verdict import CaseResult, Difference, Stage, Status, Verdict
from kgb_gym.verification.session import Failure, Session, Trial
from kgb_gym.verification.source import digest
from kgb_gym.verification.telling import bounded

MAX_SHOWN = 3


def conclude(session: Session, failure: Failure | None) -> Verdict:
    """The verdict of a session that ended with `failure`, or by itself."""
    job, operator = session.job, session.operator
    cases = tuple(t.result() for t in session.trials)
    status, message = _status(session, failure)
    stage = session.stage
    if status in (Status.PASSED, Status.MISMATCH, Status.RUNTIME_ERROR) and failure is None:
        everything = all(t.ok for t in session.trials)
        if everything and job.kind == "verify":
            stage = Stage.TIMED if any(t.timing for t in session.trials) else Stage.GENUINE
        elif everything and job.kind != "compile" and job.script is None:
            stage = Stage.CORRECT
    whole = job.kind == "verify" and not (job.only_defined or job.without or job.cases) and failure is None
    speedup, lower = _speedup(cases)
    return Verdict(
        operator=operator.id,
        source_sha256=digest(job.source),
        suite=job.suite,
        platform=job.platform,
        kind="test" if job.kind == "verify" and job.cases else job.kind,
        stage=stage,
        status=status,
        message=message,
        cases=cases,
        hacks=failure.hacks if failure else (),
        clean=whole and status is Status.PASSED,
        clean_paper=whole and bool(cases) and all(c.passed_paper for c in cases),
        baseline=session.baseline,
        only_defined=job.only_defined,
        data_dependent=operator.data_dependent,
        speedup=speedup,
        speedup_lower=lower,
        calibration=session.calibration,
        profile=session.profile,
        clocks=session.clocks,
        compiled_for=tuple(t.target for t in session.targets if t.ok),
        targets=session.targets,
        layers=tuple(session.layers),
        notes=(*session.notes, *_emulated(session)),
        report=bounded([*session.told, *(line for t in session.trials for line in t.told)]),
        seed=job.seed,
        durations={k: round(v, 6) for k, v in session.durations.items()},
    )


def _status(session: Session, failure: Failure | None) -> tuple[Status, str]:
    if failure is not None:
        where = f" (in {failure.case})" if failure.case else ""
        line = f"line {failure.line}: " if failure.line and f"line {failure.line}" not in failure.message else ""
        return failure.status, f"{line}{failure.message}{where}"
    trials = session.trials
    if broken := [t for t in trials if t.compile_error]:
        return Status.COMPILE_ERROR, broken[0].compile_error
    if session.job.kind == "compile":
        if raised := [t for t in trials if t.raised and not t.judged]:
            return _runtime(raised, trials)
        return (
            Status.PASSED,
            _compiled(session),
        )
    if session.job.script is not None:
        return Status.PASSED, "the script ran to its end"
    raised = [t for t in trials if t.raised and not t.judged]
    wrong = [t for t in trials if t.judged and not t.ok]
    if raised and (len(raised) >= len(wrong) or not wrong):
        return _runtime(raised, trials)
    if wrong or raised:
        return Status.MISMATCH, _mismatch(wrong, raised, trials)
    what = "passes" if session.job.kind == "verify" and not session.job.cases else "is right on"
    return Status.PASSED, f"{what} all {len(trials)} cases"


def _emulated(session: Session) -> tuple[str, ...]:
    if session.platform.emulation is None:
        return ()
    return (f"{session.platform.name} is an emulation: what it refuses is emulated, and its speed is not reproduced",)


def _compiled(session: Session) -> str:
    names = ", ".join(t.target for t in session.targets)
    if not names or not any(t.variants for t in session.targets):
        return "nothing is launched: there is nothing to compile"
    return f"every launched kernel compiles for {names}"


def _runtime(raised: list[Trial], trials: list[Trial]) -> tuple[Status, str]:
    first = raised[0]
    assert first.raised is not None
    status = first.raised.status
    return status, f"{len(raised)} of {len(trials)} cases raise. {first.case.id}: {first.raised.message}"


def _mismatch(wrong: list[Trial], raised: list[Trial], trials: list[Trial]) -> str:
    lines = [f"{len(wrong)} of {len(trials)} cases are wrong."]
    if raised:
        lines[0] += f" {len(raised)} raise an exception."
    for trial in wrong[:MAX_SHOWN]:
        if trial.error:
            lines.append(f"{trial.case.id}: {trial.error}")
        elif trial.difference is not None:
            lines.append(f"{trial.case.id}: {difference_text(trial.difference)}")
    if len(wrong) > MAX_SHOWN:
        lines.append(f"… and {len(wrong) - MAX_SHOWN} more")
    return "\n".join(lines)


def difference_text(difference: Difference) -> str:
    """One line: where the largest error stands and how many elements are off."""
    if isinstance(difference.expected, str) and difference.expected.startswith("p >="):
        return f"{difference.output}: {difference.note} ({difference.got}, needs {difference.expected})"
    return (
        f"{difference.output}{list(difference.index)} is {difference.got}, expected {difference.expected} "
        f"(largest absolute error {difference.max_abs:.3g}; {difference.mismatches} of {difference.total} elements"
        f"{'; ' + hole if (hole := difference.note.partition(', ')[2]) else ''})"
    )


def _speedup(cases: tuple[CaseResult, ...]) -> tuple[float | None, float | None]:
    timings = [c.timing for c in cases if c.timing is not None and c.origin == "paper" and not c.timing.launch_bound]
    if not timings:
        return None, None
    mean = math.exp(sum(math.log(t.speedup) for t in timings) / len(timings))
    low = math.exp(sum(math.log(max(t.interval[0], 1e-9)) for t in timings) / len(timings))
    return mean, low
