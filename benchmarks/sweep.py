"""Every gold kernel through the judge: `python -m benchmarks.sweep [--suite S] [--platform P] [--json FILE] [OPERATOR…]`.

Prints one line an operator as it ends, and with `--json` keeps the results in a cumulative file (see `results`). On a
platform that is timed the rows hold speedups, else seconds and correctness only.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from benchmarks import results
from kgb_gym.operators import get, gold_source, match
from kgb_gym.platforms import get as get_platform
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job, Limits


def main() -> int:
    """Print the lines; exit code 1 if a gold is not a clean pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", default=["*"])
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--platform", default="auto")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--timing-s", type=float, default=120.0, help="at most so many seconds of timing an operator")
    parser.add_argument("--correctness-s", type=float, default=280.0, help="at most so many seconds of the rest")
    parser.add_argument("--json", type=Path, help="a cumulative file of results")
    given = parser.parse_args()
    platform = get_platform(given.platform).name
    limits = Limits(correctness_s=given.correctness_s, performance_s=given.timing_s)
    failed, started = [], time.monotonic()
    chosen = _longest_first(match(given.operators), results.read(given.json) if given.json else {})
    with LocalEngine(workers=given.workers, platform=platform) as engine:
        futures = {
            engine.submit(
                Job(
                    name,
                    gold_source(name).encode(),
                    suite=given.suite,
                    platform=platform,
                    seed=given.seed,
                    limits=limits,
                )
            ): name
            for name in chosen
        }
        for future in as_completed(futures):
            name, verdict = futures[future], future.result()
            row = summary(verdict)
            print(_line(name, row, verdict), flush=True)
            if not verdict.clean:
                failed.append(name)
            if given.json:
                results.write(given.json, name, row)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} clean on {given.suite} ({platform}), "
          f"{time.monotonic() - started:.0f} s with {given.workers} workers, seed {given.seed}")  # fmt: skip
    return int(bool(failed))


def _longest_first(names: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """So that no long one is left to run alone at the end; what has no row yet may be long."""
    return sorted(names, key=lambda n: -float(rows[n]["seconds"]) if n in rows else -math.inf)


def summary(verdict: Verdict) -> dict[str, Any]:
    """A verdict of a gold kernel as a row."""
    timed = [c.timing for c in verdict.cases if c.timing is not None]
    return {
        "suite": verdict.suite, "platform": verdict.platform, "status": str(verdict.status), "clean": verdict.clean,
        "cases": len(verdict.cases), "right": sum(c.passed for c in verdict.cases),
        "seconds": round(verdict.durations.get("total", 0.0) - verdict.durations.get("lease", 0.0), 2),
        "timed": len(timed), "launch_bound": sum(t.launch_bound for t in timed),
        "speedup": _rounded(verdict.speedup), "lower": _rounded(verdict.speedup_lower), "baseline": verdict.baseline,
        "largest": _largest(verdict), "calibration": _rounded(verdict.calibration.speedup if verdict.calibration else None),
        "share": _rounded(verdict.profile.share if verdict.profile else None),
        "profile": verdict.profile.method if verdict.profile else None, "layers": list(verdict.layers),
        "notes": len(verdict.notes), "k": get(verdict.operator).counts(verdict.suite),
    }  # fmt: skip


def _largest(verdict: Verdict) -> dict[str, Any] | None:
    """The timed case whose baseline takes longest: its speedup says more about a kernel than the small ones' do."""
    timed = [c for c in verdict.cases if c.timing is not None]
    if not timed:
        return None
    case = max(timed, key=lambda c: c.timing.baseline_us if c.timing else 0.0)
    assert case.timing is not None
    return {
        "case": case.case,
        "baseline_us": round(case.timing.baseline_us, 2),
        "speedup": _rounded(case.timing.speedup),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _line(name: str, row: dict[str, Any], verdict: Verdict) -> str:
    speed = "" if row["speedup"] is None else f" S={row['speedup']:.2f}"
    largest = "" if row["largest"] is None else f" largest={row['largest']['speedup']}"
    share = "" if row["share"] is None else f" share={row['share']:.2f}"
    good = "clean" if verdict.clean else f"{verdict.status}: {verdict.message[:1500]}"
    notes = f" notes: {'; '.join(verdict.notes[:2])[:300]}" if verdict.notes else ""
    return f"{name}: {row['right']}/{row['cases']} {row['seconds']:.1f} s{speed}{largest}{share} {good}{notes}"


if __name__ == "__main__":
    sys.exit(main())
