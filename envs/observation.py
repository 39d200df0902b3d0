"""What a policy sees: a prompt, where its last submission got, what is left, and one `message` that says it all.

Observations hold no clock value unless an accelerator was timed, and nothing of a hidden case but that it failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.spaces import UnicodeText
from kgb_gym.verdict import CaseResult, Status, Verdict

MAX_PROMPT = 1 << 18
MAX_MESSAGE = 1 << 19
MAX_DETAIL = 1 << 14
"""Characters of each of `compile_error`, `test_diff` and `timings`."""

SHOWN_FAILURES = 5
"""Failing cases that are described; the others are counted."""

ObservationDict = dict[str, Any]


@dataclass(frozen=True)
class Left:
    """What remains of the budgets."""

    submissions: int
    turns: int
    tokens: int

    def __str__(self) -> str:
        return f"Left: {self.submissions} submissions, {self.turns} turns, {self.tokens:,} tokens."


def observation_space(budgets: Budgets) -> spaces.Dict:
    """Texts and counts; see `observe`."""
    return spaces.Dict(
        {
            "prompt": UnicodeText(MAX_PROMPT),
            "stage": UnicodeText(32),
            "status": UnicodeText(32),
            "compile_error": UnicodeText(MAX_DETAIL),
            "test_diff": UnicodeText(MAX_DETAIL),
            "timings": UnicodeText(MAX_DETAIL),
            "turns_left": spaces.Discrete(budgets.max_turns + 1),
            "tokens_left": spaces.Discrete(budgets.max_tokens + 1),
            "submissions_left": spaces.Discrete(budgets.max_submissions + 1),
            "message": UnicodeText(MAX_MESSAGE),
        }
    )


def observe(prompt: str, verdict: Verdict | None, message: str, left: Left) -> ObservationDict:
    """One observation.

    Args:
        prompt: the operator's prompt, the same throughout the episode.
        verdict: of the last action; None if it verified nothing: then `stage` and `status` are empty.
        message: all that is new, in one text.
        left: what remains of the budgets.
    """
    compile_error = verdict.message if verdict is not None and verdict.status is Status.COMPILE_ERROR else ""
    return {
        "prompt": clip(prompt, MAX_PROMPT),
        "stage": verdict.stage.value if verdict is not None else "",
        "status": verdict.status.value if verdict is not None else "",
        "compile_error": clip(compile_error, MAX_DETAIL),
        "test_diff": clip(differences(verdict), MAX_DETAIL) if verdict is not None else "",
        "timings": clip(timings(verdict), MAX_DETAIL) if verdict is not None else "",
        "turns_left": left.turns,
        "tokens_left": left.tokens,
        "submissions_left": left.submissions,
        "message": clip(message, MAX_MESSAGE),
    }


def describe(verdict: Verdict, what: str) -> str:
    """A verdict in few tokens.

    Args:
        verdict: what came out.
        what: what it was of: `Submission 2`, `test`.
    """
    lines = [f"{what}: {verdict.status.value}, reached `{verdict.stage.value}`."]
    if verdict.status is Status.HARNESS_ERROR:
        lines.append("The harness failed, not you: this step is unscored and used no submission. Send it again.")
    elif verdict.clean:
        lines.append("A clean pass: every case is right and nothing was got round.")
    if headline := _headline(verdict):
        lines.append(clip(headline, MAX_DETAIL))
    lines += [
        f"- {h.layer}/{h.rule}{f', line {h.line}' if h.line else ''}: {h.message}"
        for h in verdict.hacks[:SHOWN_FAILURES]
        if h.message not in verdict.message
    ]
    if verdict.cases:
        judged = [c for c in verdict.cases if not c.skipped]
        right = sum(c.passed for c in judged)
        skipped = len(verdict.cases) - len(judged)
        lines.append(f"Cases: {right} of {len(judged)} right{f', {skipped} not reached' if skipped else ''}.")
    lines += [text for text in (differences(verdict), told(verdict), compiled(verdict), timings(verdict)) if text]
    return "\n".join(lines)


def _headline(verdict: Verdict) -> str:
    """The verdict's message; where it goes on with failing cases, which are described below, what comes before them."""
    if verdict.status not in (Status.MISMATCH, Status.RUNTIME_ERROR):
        return verdict.message
    places = [verdict.message.find(c.case) for c in _failed(verdict)[:SHOWN_FAILURES]]
    first = min((p for p in places if p >= 0), default=len(verdict.message))
    return verdict.message[:first].rstrip()


def _failed(verdict: Verdict) -> list[CaseResult]:
    return [c for c in verdict.cases if not c.passed and not c.skipped]


def differences(verdict: Verdict) -> str:
    """The failing cases, one or two lines each; empty if none failed."""
    failed = _failed(verdict)
    lines, said = [], set()
    for case in failed[:SHOWN_FAILURES]:
        again = bool(case.error) and case.difference is None and case.error in said
        lines.append(f"- {_name(case)}: the same" if again else _failure(case))
        said.add(case.error)
    if len(failed) > SHOWN_FAILURES:
        lines.append(f"- and {len(failed) - SHOWN_FAILURES} more")
    return "\n".join(lines)


def told(verdict: Verdict) -> str:
    """What `run` and `profile` found, and what of the device time was the submission's; empty for others."""
    lines = list(verdict.report)
    if verdict.kind == "profile" and (seen := verdict.profile) is not None:
        share = "unknown" if seen.share is None else f"{seen.share:.0%}"
        lines.append(
            f"On the GPU ({seen.method}, {seen.case}): own kernels {', '.join(seen.own)}; their share {share}."
        )
    return clip("\n".join(lines), MAX_DETAIL)


def compiled(verdict: Verdict) -> str:
    """What came of each chip that was compiled for, a line each. Of a submission only where it is right, but does not
    compile for some further chip: else the message says all."""
    asked = verdict.kind in ("compile", "profile")
    if not asked and (verdict.status is not Status.PASSED or all(t.ok for t in verdict.targets)):
        return ""
    lines = []
    for target in verdict.targets:
        if not target.ok:
            said = "" if target.message in verdict.message else f" {clip(target.message.strip(), 600)}"
            lines.append(f"- {target.target}: {target.status.value}.{said}")
            continue
        told = [
            f"{c.function} {'?' if c.registers is None else c.registers} registers, {c.spill_bytes or 0} bytes spilled, "
            f"shared {c.shared_bytes}/{target.shared_limit}"
            for c in target.kernels
        ]
        lines.append(f"- {target.target}: ok. {'; '.join(told)}")
    return "\n".join(lines)


def timings(verdict: Verdict) -> str:
    """Timed cases, one line each, and the operator's speedup; empty where nothing was timed."""
    timed = [c for c in verdict.cases if c.timing is not None]
    if not timed:
        return ""
    lines = []
    if verdict.speedup is not None and verdict.speedup_lower is not None:
        lines.append(f"Speedup {verdict.speedup:.3f}x (at least {verdict.speedup_lower:.3f}x) over {verdict.baseline}.")
    # The slowest first: that is where there is something to gain.
    for case in sorted(timed, key=lambda c: c.timing.speedup if c.timing else 0.0)[:20]:
        assert case.timing is not None
        t = case.timing
        note = " (launch-bound, not counted)" if t.launch_bound else ""
        lines.append(
            f"- {_name(case)}: {t.submission_us:.1f} µs against {t.baseline_us:.1f} µs, {t.speedup:.2f}x "
            f"[{t.interval[0]:.2f}, {t.interval[1]:.2f}]{note}"
        )
    return "\n".join(lines)


def clip(text: str, longest: int) -> str:
    """The text, its middle left out where it is longer than `longest` characters."""
    if len(text) <= longest:
        return text
    mark = "\n[...]\n"
    head = (longest - len(mark)) * 2 // 3
    return text[:head] + mark + text[len(text) - (longest - len(mark) - head) :]


def _failure(case: CaseResult) -> str:
    parts = [f"- {_name(case)}: "]
    if case.error:
        parts.append(clip(case.error.strip(), 2000))
    if case.difference is not None:
        d = case.difference
        index = ", ".join(map(str, d.index))
        parts.append(
            f"{d.output}[{index}] should be {d.expected}, is {d.got}; {d.mismatches} of {d.total} wrong, "
            f"largest error {d.max_abs:.3g} (relative {d.max_rel:.3g}){f'; {d.note}' if d.note else ''}"
        )
    if not case.error and case.difference is None:
        parts.append("not right")
    return parts[0] + "; ".join(parts[1:])


def _name(case: CaseResult) -> str:
    return f"{case.interface}[hidden case: other sizes and strides]" if case.origin == "hidden" else case.case
