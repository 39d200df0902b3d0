"""What the trust layers cost: `python -m benchmarks.share [--suite S] [OPERATOR…]`.

Every gold kernel is judged three times in a warm engine, and the phases of the last verification are split: the trust
layers' own (screen, recording with audit and state, the ghost run, contract, hidden cases, forking the recorder), and what
any judge would need (loading, playing, oracle and comparison, compiling). Compiling runs beside the player; the share is
given with and without the time that the judge waits for it.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from benchmarks.measure import machine
from kgb_gym.operators import gold_source, match
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job

TARGET = 0.35


def main() -> int:
    """Print the table; exit code 1 if the median share is over the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", default=["*"])
    parser.add_argument("--suite", default="quick")
    given = parser.parse_args()
    print(f"{machine()}; suite {given.suite}\n")
    print("| operator | total s | trust s | share | without waiting for the compiler |\n|---|--:|--:|--:|--:|")
    shares = []
    with LocalEngine(workers=1, platform="cpu") as engine:
        for name in match(given.operators):
            for seed in range(3):
                job = Job(name, gold_source(name).encode(), suite=given.suite, seed=seed)
                verdict = engine.submit(job).result()
            total, own = phases(verdict)
            alone = total - verdict.durations.get("compile_wait", 0.0)
            shares.append(own / alone)
            print(f"| `{name}` | {total:.2f} | {own:.2f} | {own / total:.0%} | {own / alone:.0%} |", flush=True)
    middle = statistics.median(shares)
    print(f"\nmedian share without waiting for the compiler: {middle:.0%} (target: at most {TARGET:.0%})")
    return int(middle > TARGET)


def phases(verdict: Verdict) -> tuple[float, float]:
    """Wall seconds of a verification, and of them the trust layers' own. Half of the forks is the recorder's."""
    d = verdict.durations
    own = (
        d.get("screen", 0.0)
        + d.get("record", 0.0)
        + d.get("ghost", 0.0)
        + (d.get("fork", 0.0) + d.get("load", 0.0)) / 2
    )
    return d["total"], own


if __name__ == "__main__":
    sys.exit(main())
