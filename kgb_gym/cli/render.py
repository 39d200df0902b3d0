"""A verdict for people: what came of it, the cases that fail with their largest error, the evidence, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgb_gym.verdict import CaseResult, Difference, KernelCode, Status, TargetResult, Verdict

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 6
"""Failures that are told of; the rest is counted."""

HINTS = {
    Status.SYNTAX_ERROR: "the file is no Python module: mend the line that the message names",
    Status.MISSING_INTERFACE: "define every function that `kgb show {operator}` lists, or pass --only-defined",
    Status.HACK: "the answer must come from Triton kernels of your own; docs/how-a-submission-is-judged.md has the rules",
    Status.COMPILE_ERROR: "Triton refuses a kernel; `kgb compile {operator} FILE` repeats this step alone",
    Status.RUNTIME_ERROR: "the call raised; the frames above are the submission's own",
    Status.RECURSION: "the function calls the operator that it replaces: use a kernel in its place",
    Status.MISMATCH: "compare the index above with what the kernel does there; `kgb show {operator} --cases` lists cases",
    Status.TIMEOUT: "the submission ran out of time: look for a loop without end, or a grid far too large",
    Status.CRASH: "the process died: look for an access out of bounds; every load and store needs its mask",
    Status.OUT_OF_MEMORY: "the submission allocated more than it may",
    Status.HARNESS_ERROR: "this is our failure and is not scored; `kgb doctor` checks the installation",
}


def print_verdict(verdict: Verdict, out: Console, seconds: float | None = None) -> None:
    """Print it, a screenful at most."""
    from rich.markup import escape

    passed = verdict.status is Status.PASSED
    mark = "[green]✓[/]" if passed else "[red]✗[/]"
    name = "clean pass" if verdict.clean else verdict.status.value
    facts = [f"{verdict.suite} on {verdict.platform}", f"reached {verdict.stage.value}"]
    cases = verdict.cases if verdict.kind != "compile" else ()
    judged = [c for c in cases if not c.skipped]
    if cases:
        facts.append(f"{sum(c.passed for c in judged)} of {len(cases)} cases right")
    if verdict.speedup is not None:
        facts.append(f"speedup {verdict.speedup:.2f} over {verdict.baseline}")
    if seconds is not None:
        facts.append(f"{seconds:.1f} s")
    out.print(f"{mark} [bold]{name}[/]  {escape(verdict.operator)}  [dim]{escape(' · '.join(facts))}[/]")
    for hack in verdict.hacks:
        where = f"line {hack.line}: " if hack.line is not None else ""
        out.print(f"  [red]hack[/] {where}{escape(hack.message)} [dim]({escape(f'{hack.layer}/{hack.rule}')})[/]")
    if not passed and not verdict.hacks:
        failed = _by_reason([c for c in judged if not c.passed])
        if not failed:
            for line in verdict.message.rstrip().splitlines():
                out.print(f"  {escape(line)}")
        _print_cases(failed, out)
    skipped = len(cases) - len(judged)
    if skipped:
        out.print(f"  {skipped} cases were not judged any more", style="dim")
    for note in verdict.notes:
        out.print(f"  [dim]note: {escape(note)}[/]")
    if passed and verdict.only_defined:
        out.print("  [dim]only the interfaces that the file defines were judged: no clean pass of the operator[/]")
    if hint := HINTS.get(verdict.status):
        out.print(f"  [yellow]{escape(hint.format(operator=verdict.operator))}[/]")


def print_targets(targets: tuple[TargetResult, ...], out: Console) -> None:
    """One line a chip, and one a kernel where its code is known."""
    from rich.markup import escape

    for each in targets:
        if each.ok:
            facts = f"{each.variants} specialisations" if each.variants else "nothing to compile"
        else:
            facts = f"{each.status.value}, {each.failed} of {each.variants + each.failed} specialisations"
        out.print(f"{'[green]✓[/]' if each.ok else '[red]✗[/]'} [bold]{each.target}[/]  [dim]{facts}[/]")
        for code in each.kernels:
            out.print(f"    {escape(code_text(code, each.shared_limit))}", style="dim", soft_wrap=True)
        for line in each.message.rstrip().splitlines()[:6]:
            out.print(f"      {escape(line)}")


def code_text(code: KernelCode, limit: int) -> str:
    """One kernel on one chip, in one line."""
    registers = "registers unknown" if code.registers is None else f"{code.registers} registers"
    spilled = f", {code.spill_bytes} bytes spilled" if code.spill_bytes else ""
    counted = ", ".join(f"{n} {kind}" for kind, n in code.instructions.items())
    return f"{code.function}: {registers}{spilled}, shared {code.shared_bytes} of {limit} bytes; {counted}"


def _by_reason(failed: list[CaseResult]) -> dict[tuple[str, ...], list[CaseResult]]:
    found: dict[tuple[str, ...], list[CaseResult]] = {}
    for case in failed:
        found.setdefault(tuple(_reasons(case)), []).append(case)
    return found


def _print_cases(failed: dict[tuple[str, ...], list[CaseResult]], out: Console) -> None:
    """Cases that fail alike are told of once."""
    from rich.markup import escape

    for reasons, cases in list(failed.items())[:SHOWN]:
        alike = f" [dim]and {len(cases) - 1} more alike[/]" if len(cases) > 1 else ""
        out.print(f"  [red]✗[/] {escape(cases[0].case)}{alike}")
        for line in reasons:
            out.print(f"      {escape(line)}")
    if rest := sum(len(cases) for cases in list(failed.values())[SHOWN:]):
        out.print(f"  … and {rest} more failing cases (--json has them all)", style="dim")


def _reasons(case: CaseResult) -> Iterator[str]:
    if case.difference is not None:
        yield difference(case.difference)
    yield from case.error.rstrip().splitlines()[-6:]
    if case.passed_paper:
        yield "right by the paper's tolerance, wrong by the strict one"


def difference(found: Difference) -> str:
    """One line: the largest error, where it stands, and how many elements are wrong."""
    index = ", ".join(str(i) for i in found.index)
    expected, got = _number(found.expected), _number(found.got)
    if expected == got:  # they differ in digits that are not shown
        expected, got = str(found.expected), str(found.got)
    text = (
        f"{found.output}: expected {expected}, got {got} at ({index}); "
        f"{found.mismatches} of {found.total} wrong, largest error {found.max_abs:.3g} absolute, "
        f"{found.max_rel:.3g} relative"
    )
    return f"{text}; {found.note}" if found.note else text


def _number(value: float | bool | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
