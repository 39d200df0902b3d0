"""Mutation score: which wrong kernels the case grids kill. `python -m benchmarks.mutation [--per N] [OPERATOR…]`.

Every gold kernel is changed in one place at a time (see `mutators`), and each mutant judged on `quick` with several
seeds of values drawn by the judge. A mutant is killed by any status but `passed`; those that do not compile are left
out, time-outs are listed apart. Survivors are printed: each is a hole in a grid, or equivalent to the original.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import Future

from benchmarks.measure import machine
from benchmarks.mutators import VERSION, Mutant, mutants
from kgb_gym.operators import gold_source, match
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Job, Limits

LIMITS = Limits(correctness_s=60.0, call_s=20.0)


def main() -> int:
    """Print the table; exit code 1 if an operator scores below 80%."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", default=["*"])
    parser.add_argument("--per", type=int, default=0, help="at most so many mutants an operator, drawn; 0: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"mutators version {VERSION}; {machine()}\n")
    print("| operator | mutants | killed | not compiling | timed out | survived | score |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    worst, survivors, totals = 1.0, list[tuple[str, Mutant]](), Counter[str]()
    with LocalEngine(workers=given.workers, platform="cpu") as engine:
        for name in match(given.operators):
            made = mutants(gold_source(name))
            if given.per and len(made) > given.per:
                made = random.Random(given.seed).sample(made, given.per)
            jobs = [(m, engine.submit(_job(name, m, given.seed))) for m in made]
            counts, alive = _count(jobs)
            survivors += [(name, m) for m in alive]
            totals.update(counts)
            if judged := counts["killed"] + counts["survived"]:
                worst = min(worst, counts["killed"] / judged)
            print(_row(name, counts), flush=True)
    print(_row("all", totals))
    print("\nSurvivors:\n")
    for name, m in survivors:
        print(f"- `{name}` {m.mutator}, {m.function} line {m.line}: `{m.before}` → `{m.after}`")
    return int(worst < 0.8)


def _job(name: str, mutant: Mutant, seed: int) -> Job:
    return Job(name, mutant.source.encode(), suite="quick", seed=seed, limits=LIMITS, fail_fast=True)


def _count(jobs: list[tuple[Mutant, Future[Verdict]]]) -> tuple[Counter[str], list[Mutant]]:
    counts, alive = Counter[str](), list[Mutant]()
    for mutant, future in jobs:
        verdict = future.result()
        if verdict.status is Status.HARNESS_ERROR:
            raise RuntimeError(f"{mutant.mutator} line {mutant.line}: {verdict.message}")
        kind = {Status.PASSED: "survived", Status.COMPILE_ERROR: "not compiling", Status.TIMEOUT: "timed out"}.get(
            verdict.status, "killed"
        )
        counts[kind] += 1
        if kind == "survived":
            alive.append(mutant)
    return counts, alive


def _row(name: str, counts: Counter[str]) -> str:
    judged = counts["killed"] + counts["survived"]
    score = f"{counts['killed'] / judged:.1%}" if judged else "–"
    cells = [sum(counts.values()), counts["killed"], counts["not compiling"], counts["timed out"], counts["survived"]]
    return f"| `{name}` | " + " | ".join(map(str, cells)) + f" | {score} |"


if __name__ == "__main__":
    sys.exit(main())
