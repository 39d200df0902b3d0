"""The judge: one submission against one operator, from bytes to a verdict.

It makes the inputs, computes the oracle, compares and decides. It never imports a submission: it parses the text, asks
a recorder for records, checks them as data, has a player execute them on values that the recorder never saw, and a
compiler compile what they launch.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import Any

from kgb_gym.operators import Case, Interface, Maker, Operator, get
from kgb_gym.platforms import get as get_platform
from kgb_gym.verdict import Hack, Stage, Status, Verdict
from kgb_gym.verification import freshness
from kgb_gym.verification.answers import printable
from kgb_gym.verification.asking import as_failure, error_in, exchange, no_answer, working
from kgb_gym.verification.clock import time_all
from kgb_gym.verification.compiling import CompileRun
from kgb_gym.verification.foresight import Foresight
from kgb_gym.verification.loading import Loading
from kgb_gym.verification.one_ahead import one_ahead
from kgb_gym.verification.outcome import conclude
from kgb_gym.verification.pipeline import play_cases
from kgb_gym.verification.plan import chosen_cases, derive, uses_dtype
from kgb_gym.verification.playing import judge_refusals, live_question
from kgb_gym.verification.protocols import Job, Spawner, Threads
from kgb_gym.verification.rebuild import BadKernel, Kernels, rebuild
from kgb_gym.verification.screen import screen
from kgb_gym.verification.scripting import printed
from kgb_gym.verification.session import Failure, Session, Trial, Worker
from kgb_gym.verification.source import Source, Unparsable, defined_names, line_of, parse
from kgb_gym.verification.subject import readable
from kgb_gym.verification.tensors import pack


def verify(job: Job, spawner: Spawner, operator: Operator | None = None, threads: Threads | None = None) -> Verdict:
    """Answer one job.

    Args:
        job: the question.
        spawner: where processes come from.
        operator: judge by this declaration; default: the catalogue's of the job's name.
        threads: what may be computed at once; default: one thing.

    Raises:
        Exception: a failure of ours; the caller makes it a `harness_error`.
    """
    spawner.settle()  # what an earlier one left
    session = Session(job, operator or get(job.operator), get_platform(job.platform), spawner, threads or Threads())
    failure: Failure | None = None
    source: Source | None = None
    try:
        if job.script is not None:
            _script(session, job.script)
        else:
            source, kernels = _read(session)
            _run(session, source, kernels)
    except Failure as caught:
        failure = caught
        if source is not None:
            _place(failure, session, source)
    session.durations["total"] = time.monotonic() - session.began
    return conclude(session, failure)


def _script(session: Session, script: str) -> None:
    """Run the model's own script beside its module. Neither is screened: nothing is scored by what they print."""
    head = {"text": _parsed(session).text, "script": script}
    with working(session, "script") as worker:
        try:
            with session.clock("play"):
                answer, _ = exchange(session, worker, head, seconds=session.job.limits.call_s, doing="the script")
        finally:
            session.told += printed(worker.end())
    session.stage = Stage.LOADED
    if told := error_in(answer):
        raise as_failure(told, "the script")


def _place(failure: Failure, session: Session, source: Source) -> None:
    """Evidence that has no line of its own stands where the function of its case is defined."""
    function = next((t.interface.function for t in session.trials if t.case.id == failure.case), "")
    line = line_of(source.tree, function)
    failure.hacks = tuple(h if h.line is not None else replace(h, line=line) for h in failure.hacks)


def _read(session: Session) -> tuple[Source, Kernels]:
    """Parse, screen, find the interfaces and take the kernels out."""
    job, operator = session.job, session.operator
    with session.clock("screen"):
        source = _parsed(session)
        missing = [i for i in operator.interfaces if i.function not in defined_names(source.tree)]
        if missing and (not job.only_defined or len(missing) == len(operator.interfaces)):
            raise Failure(Status.MISSING_INTERFACE, _missing_text([i.function for i in missing]))
        hacks = screen(
            source,
            operator.policy,
            own=operator.name if operator.source == "aten" else "",
            reads=_reads(operator),
            plugins=frozenset(session.platform.imports),
        )
        if hacks and session.uses("screen"):
            raise Failure(Status.HACK, hacks[0].message, hacks=hacks)
        try:
            kernels = rebuild(source)
        except BadKernel as error:
            raise Failure(Status.COMPILE_ERROR, f"line {error.line}: {error}", line=error.line) from error
        session.ran("screen")
        session.stage = Stage.SCREENED
    return source, kernels


def _parsed(session: Session) -> Source:
    try:
        source = parse(session.job.source)
    except Unparsable as error:
        hint = " (the text holds a ``` fence: submit what stands inside it)" if b"```" in session.job.source else ""
        raise Failure(Status.SYNTAX_ERROR, f"{error}{hint}", line=error.line) from error
    session.stage = Stage.PARSED
    return source


def _reads(operator: Operator) -> frozenset[str]:
    """Methods by which a submission may read values: a size or a position; an element where that is the answer; an
    argument that is one number (the audit knows which)."""
    if not operator.data_dependent:
        return frozenset({"item"} if any(i.reads for i in operator.interfaces) else ())
    return frozenset({"item"}) if operator.kernel_required else frozenset({"item", "tolist"})


def _missing_text(functions: list[str]) -> str:
    return f"the module does not define {', '.join(functions)}: every interface of the operator needs its function"


def _run(session: Session, source: Source, kernels: Kernels) -> None:
    job, operator = session.job, session.operator
    defined = defined_names(source.tree)
    interfaces = tuple(i for i in operator.interfaces if i.function in defined)
    cases = _cases(session, interfaces)
    session.trials = [Trial(case, operator.interface(case.interface)) for case in cases]
    with contextlib.ExitStack() as stack:
        recorder = stack.enter_context(working(session, _recording_role(session)))
        player = stack.enter_context(working(session, "player")) if job.kind != "compile" else None
        live = operator.data_dependent and player is not None
        caller = stack.enter_context(working(session, "caller")) if live else None
        _load(session, recorder, source, interfaces)
        session.stage = Stage.LOADED
        ahead = session.threads if player is not None and job.pipelined else Threads()
        foresight = Foresight(session, session.trials, ahead)
        stack.callback(foresight.close)
        loading = Loading(session, player, kernels)
        with session.clock("record"):
            _record_all(session, recorder, loading)
        session.ran("state")
        recorder.end()
        compiling = _compiling(session, kernels, stack)
        if caller is not None:
            _load(session, caller, source, interfaces, live=True)
            _call_all(session, caller)
            caller.end()
        # Beside the player, but for who wants the first failure: most of those fail while playing.
        late = job.fail_fast and player is not None
        if compiling is not None and not late:
            compiling.start()
        if player is not None:
            _play_all(session, player, kernels, foresight, loading)
            foresight.close()
        else:
            judge_refusals(session)
        failed = any((t.judged and not t.ok) or (t.raised and not t.judged) for t in session.trials)
        if compiling is not None and not (job.fail_fast and failed):
            if late:
                compiling.start()
            session.targets = compiling.finish()
            compiling.mark()
        if not any(t.compile_error for t in session.trials):
            session.stage = Stage.COMPILED
        if job.kind == "verify" and kernels.names and all(t.ok for t in session.trials):
            _compile_further(session, kernels, stack)
        if player is not None and job.kind != "test" and session.platform.timed and job.timing:
            time_all(session, player, kernels)


def _recording_role(session: Session) -> str:
    """A recorder; where native compute is let through, one that has the device to do it on."""
    return "recorder" if session.uses("audit") or session.platform.device != "cuda" else "caller"


def _cases(session: Session, interfaces: tuple[Interface, ...]) -> list[Case]:
    """The job's cases that the platform's dtypes allow; what is left out is noted."""
    unsupported = session.platform.unsupported
    chosen = chosen_cases(session.job, session.operator, interfaces)
    kept = [c for c in chosen if not uses_dtype(c, unsupported)]
    if len(kept) < len(chosen):
        session.notes.append(
            f"{len(chosen) - len(kept)} of {len(chosen)} cases left out: {session.platform.name} has no "
            f"{' nor '.join(sorted(unsupported))}"
        )
    return kept


def _compiling(session: Session, kernels: Kernels, stack: contextlib.ExitStack) -> CompileRun | None:
    """What compiles for the targets that decide the verdict; None where nothing is compiled ahead of time."""
    job = session.job
    asked = job.kind in ("compile", "profile")
    ahead = asked or session.platform.interpreted or session.platform.emulation is not None
    if not (kernels.names and session.uses("compile") and ahead):
        return None
    targets = (job.targets if asked else ()) or session.platform.compile_targets
    limit = job.limits.compile_s if asked else None
    run = CompileRun(session, kernels, targets, lambda: Worker(session, "compiler"), limit_s=limit, whole=asked)
    stack.callback(run.stop)
    return run


def _compile_further(session: Session, kernels: Kernels, stack: contextlib.ExitStack) -> None:
    """Compile a submission that is right for the job's further targets: a fact about it, and no condition."""
    known = {t.target for t in session.targets}
    further = [t for t in session.job.targets if t not in known]
    if not further or not session.uses("compile"):
        return
    run = CompileRun(
        session, kernels, further, lambda: Worker(session, "compiler"), limit_s=session.job.limits.compile_s, whole=True
    )
    stack.callback(run.stop)
    run.start()
    session.targets += run.finish()


def _load(
    session: Session, recorder: Worker, source: Source, interfaces: tuple[Interface, ...], live: bool = False
) -> None:
    operator = session.operator
    head = {
        "live": live, "data_dependent": operator.data_dependent, "text": source.text, "device": session.platform.device, "dispatch_key": session.platform.dispatch_key,
        "source": operator.source, "interfaces": [{"name": i.name, "function": i.function} for i in interfaces],
        "audit": session.uses("audit"), "policy": {
            "allow": sorted(operator.policy.allow), "lossy_copy": operator.policy.lossy_copy,
            "inputs_only": operator.policy.inputs_only,
            "deny_ops": sorted(operator.policy.deny_ops), "allow_ops": sorted(operator.policy.allow_ops),
        },
    }  # fmt: skip
    with session.clock("load"):
        answer, _ = exchange(
            session, recorder, head, seconds=session.job.limits.call_s, doing="importing the submission"
        )
    if told := error_in(answer):
        raise as_failure(told, "importing the submission")
    missing = answer.get("missing")
    if not isinstance(missing, list):
        raise no_answer()
    _check_violations(session, answer, "")
    if missing:
        raise Failure(
            Status.MISSING_INTERFACE,
            _missing_text([i.function for i in interfaces if i.name in missing]) + " (a callable, once imported)",
        )


def _record_all(session: Session, recorder: Worker, loading: Loading) -> None:
    """Have every case recorded, and a drawn one again, at once and after all others (see `freshness`)."""
    wanted = freshness.first_candidate(session)
    kept: Trial | None = None
    ahead = session.threads.ahead > 0 and session.job.pipelined
    with one_ahead(ahead, session.trials, lambda t: _recording_call(session, t)) as calls:
        for number, trial in enumerate(session.trials):
            keep = kept is None and wanted is not None and number >= wanted
            _record(session, recorder, trial, *next(calls), keep=keep, last=trial is session.trials[-1])
            if keep and trial.raised is None:
                kept = trial
                _record_again(session, recorder, trial, " at once")
            loading.recorded(trial)
    if kept is not None:
        _record_again(session, recorder, kept, "")


def _record_again(session: Session, recorder: Worker, trial: Trial, which: str) -> None:
    """Have a case recorded once more, on the same tensors with other values in them, and compare.

    Raises:
        Failure: the record is another one.
    """
    if (asked := freshness.question(session, trial, which)) is None:
        return
    question, blobs = asked
    answer, _ = exchange(session, recorder, question, blobs, seconds=session.job.limits.call_s,
                     doing=f"recording {trial.case.id} again")  # fmt: skip
    again = Trial(trial.case, trial.interface)
    _take(session, again, answer)
    freshness.compare(trial, again)


def _recording_call(session: Session, trial: Trial) -> tuple[dict[str, Any], list[memoryview]]:
    """The question for a case's record, and its bytes."""
    if session.operator.data_dependent:
        return live_question(session, trial)
    case = trial.case
    call = trial.interface.call(Maker(derive(session.job, case.id, "record"), tiled=True), case.params)
    tree, blobs = pack(call)
    read = readable(session.operator, trial.interface, call)
    return {"interface": case.interface, "call": tree, "readable": read}, blobs


def _record(
    session: Session, recorder: Worker, trial: Trial, question: dict[str, Any], blobs: list[memoryview], *,
    keep: bool, last: bool,
) -> None:  # fmt: skip
    """Have one case recorded. A broken rule ends the verification; an exception fails the case."""
    question |= {"last": last, "keep": keep}
    trial.input_bytes = [len(b) for b in blobs]
    answer, _ = exchange(session, recorder, question, blobs, seconds=session.job.limits.call_s,
                         doing=f"recording {trial.case.id}")  # fmt: skip
    _take(session, trial, answer)
    if session.operator.data_dependent:
        trial.raised = None  # held back, it may have read what no kernel had written yet


def _take(session: Session, trial: Trial, answer: dict[str, Any]) -> None:
    """What the recorder (or the caller) says of one call, on the trial."""
    case = trial.case
    if answer.get("recursion"):
        raise Failure(
            Status.RECURSION,
            f"{answer['recursion']} calls the operator that it replaces: with the submission mounted, that call comes "
            "back to it without end. Compute in a kernel instead",
            case=case.id,
        )
    _check_violations(session, answer, case.id)
    if told := error_in(answer):
        trial.raised = as_failure(told, f"calling {trial.interface.function}")
        trial.raised_type = str(told.get("type"))
    else:
        trial.raw_record = answer.get("record")


def _check_violations(session: Session, answer: dict[str, Any], case: str) -> None:
    """What a recorder noticed ends the verification.

    Raises:
        Failure: it noticed something, or its answer is none.
    """
    violations = answer.get("violations")
    if not isinstance(violations, list) or not all(isinstance(v, dict) for v in violations):
        raise no_answer()
    violations = [v for v in violations if session.uses(str(v.get("layer")))]
    if violations:
        hacks = tuple(
            Hack(str(v.get("layer")), str(v.get("rule")), printable(str(v.get("message")))[:500], _line(v.get("line")))
            for v in violations[:5]
        )
        raise Failure(Status.HACK, hacks[0].message, hacks=hacks, case=case)


def _call_all(session: Session, caller: Worker) -> None:
    """Have every call of an operator whose launches depend on values made on the values it will be judged by.

    What the caller computed is not believed: like any record, its own is played, and run without its launches.
    """
    for trial in session.trials:
        question, blobs = live_question(session, trial)
        with session.clock("call"):
            answer, _ = exchange(session, caller, question, blobs, seconds=session.job.limits.call_s,
                             doing=f"calling {trial.case.id}")  # fmt: skip
        trial.raised, trial.raw_record = None, None
        _take(session, trial, answer)


def _line(value: Any) -> int | None:
    return value if type(value) is int else None


def _play_all(session: Session, player: Worker, kernels: Kernels, foresight: Foresight, loading: Loading) -> None:
    loading.load(player)
    loading.compile(player, session.trials)

    def ask(question: dict[str, Any], blobs: Any, doing: str, max_blobs: int) -> Any:
        with session.clock("play"):
            return exchange(session, player, question, blobs, seconds=session.job.limits.correctness_s, doing=doing,
                        max_blobs=max_blobs)  # fmt: skip

    play_cases(session, kernels, foresight, ask, player.end)
    session.ran("audit", "ghost", "play", "hidden", "contract")
