"""Mutation score: which wrong kernels the case grids kill. `python -m benchmarks.mutation [--per N] [OPERATOR…]`.

Every gold kernel is changed in one place at a time (see `mutators`), and each mutant judged on `wide` (or what `--suite`
says) with several seeds of values drawn by the judge. A mutant is killed by any status but `passed`; those that do not compile are left
out, time-outs are listed apart. Survivors are printed: each is a hole in a grid, or equivalent to the original; those
that `equivalents` lists with a reason are counted apart, once they have passed on further seeds.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.equivalents import AGREEMENT_SEEDS, MAX_SHARE, reason
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
    parser.add_argument("--suite", default="wide")
    parser.add_argument("--json", type=Path, help="a cumulative file of results")
    given = parser.parse_args()
    print(f"mutators version {VERSION}; {machine()}\n")
    print("| operator | mutants | killed | not compiling | timed out | equivalent | survived | score |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    worst, survivors, totals = 1.0, list[tuple[str, Mutant]](), Counter[str]()
    with LocalEngine(workers=given.workers, platform="cpu") as engine:
        for name in match(given.operators):
            made = mutants(gold_source(name))
            if given.per and len(made) > given.per:
                made = random.Random(given.seed).sample(made, given.per)
            jobs = [(m, engine.submit(_job(name, m, given.suite, given.seed))) for m in made]
            counts, alive = _sorted_out(engine, name, *_count(jobs), given.suite, given.seed)
            survivors += [(name, m) for m in alive]
            totals.update(counts)
            if judged := counts["killed"] + counts["survived"]:
                worst = min(worst, counts["killed"] / judged)
            print(_row(name, counts), flush=True)
            if given.json:
                results.write(given.json, name, {"suite": given.suite, **_result(counts, alive)})
    print(_row("all", totals))
    print("\nSurvivors:\n")
    for name, m in survivors:
        print(f"- `{name}` {m.mutator}, {m.function} line {m.line}: `{m.before}` → `{m.after}` in `{m.text}`")
    share = totals["equivalent"] / max(1, sum(totals.values()))
    if share > MAX_SHARE:
        print(f"\n{share:.1%} of the mutants are listed as equivalent: at most {MAX_SHARE:.0%} may be")
    return int(worst < 0.8 or share > MAX_SHARE)


def _sorted_out(
    engine: LocalEngine, name: str, counts: Counter[str], alive: list[Mutant], suite: str, seed: int
) -> tuple[Counter[str], list[Mutant]]:
    """The counts with listed equivalents apart, and the survivors that remain. An equivalent that fails is killed."""
    rest = []
    for mutant in alive:
        if not reason(name, mutant):
            rest.append(mutant)
            continue
        further = [engine.submit(_job(name, mutant, suite, seed + 1 + number)) for number in range(AGREEMENT_SEEDS)]
        agrees = all(f.result().status is Status.PASSED for f in further)
        counts["survived"] -= 1
        counts["equivalent" if agrees else "killed"] += 1
        if not agrees:
            print(f"not equivalent after all: `{name}` line {mutant.line}: `{mutant.before}` → `{mutant.after}`")
    return counts, rest


def _result(counts: Counter[str], alive: list[Mutant]) -> dict[str, Any]:
    kinds = {
        "killed": "killed",
        "survived": "survived",
        "not compiling": "not_compiling",
        "timed out": "timed_out",
        "equivalent": "equivalent",
    }
    return {
        "version": VERSION, "mutants": sum(counts.values()), **{key: counts[kind] for kind, key in kinds.items()},
        "survivors": [f"{m.mutator}, {m.function} line {m.line}: {m.before} → {m.after} in `{m.text}`" for m in alive],
    }  # fmt: skip


def _job(name: str, mutant: Mutant, suite: str, seed: int) -> Job:
    return Job(name, mutant.source.encode(), suite=suite, seed=seed, limits=LIMITS, fail_fast=True)


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
    kinds = ("killed", "not compiling", "timed out", "equivalent", "survived")
    cells = [sum(counts.values()), *(counts[kind] for kind in kinds)]
    return f"| `{name}` | " + " | ".join(map(str, cells)) + f" | {score} |"


if __name__ == "__main__":
    sys.exit(main())
