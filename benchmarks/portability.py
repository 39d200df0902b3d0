"""For which chips the gold kernels compile: `python -m benchmarks.portability [--suite S] [--json FILE] [OPERATOR…]`.

Every launch that the suite's cases make is compiled ahead of time for five chips that nobody here needs to have, each
in a process of its own with a time limit. Prints one line an operator as it ends. What cannot be told from this: whether
the code is right there, and how fast.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from benchmarks import results
from kgb_gym.operators import gold_source, match
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import TargetResult, Verdict
from kgb_gym.verification.protocols import Job, Limits
from kgb_gym.verification.targets import PORTABLE, listed


def main() -> int:
    """Print the lines; exit code 1 if a gold does not compile for some target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", default=["aten/*"])
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--target", action="append", default=None, help=f"default: {','.join(PORTABLE)}")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0, help="wall seconds for each target of an operator")
    parser.add_argument("--skip-known", action="store_true", help="leave out operators whose row is of this gold")
    parser.add_argument("--json", type=Path, default=results.DATA / "portability.json")
    given = parser.parse_args()
    targets = listed(given.target or PORTABLE)
    known = results.read(given.json) if given.skip_known else {}
    chosen = [n for n in match(given.operators) if known.get(n, {}).get("gold") != results.gold_hash(n)]
    failed, started = [], time.monotonic()
    with LocalEngine(workers=given.workers, platform="cpu") as engine:
        futures = {engine.submit(_job(n, given.suite, targets, given.seconds)): n for n in chosen}
        for future in as_completed(futures):
            name, verdict = futures[future], future.result()
            if any(not t.ok for t in verdict.targets):
                failed.append(name)
            print(f"{name}: {verdict.status}; {_told(verdict)}", flush=True)
            results.write(given.json, name, summary(verdict))
    print(f"{len(chosen) - len(failed)} of {len(chosen)} compile for {', '.join(targets)}: "
          f"{time.monotonic() - started:.0f} s with {given.workers} workers")  # fmt: skip
    return int(bool(failed))


def summary(verdict: Verdict) -> dict[str, Any]:
    """What came of one operator, as a row."""
    return {
        "suite": verdict.suite,
        "status": str(verdict.status),
        "message": "" if verdict.targets else verdict.message[:300],
        "seconds": round(verdict.durations.get("total", 0.0), 1),
        "targets": {t.target: _row(t) for t in verdict.targets},
    }


def _row(target: TargetResult) -> dict[str, Any]:
    return {
        "status": str(target.status), "variants": target.variants, "failed": target.failed,
        "message": target.message[:400],
        "registers": max((k.registers or 0 for k in target.kernels), default=None),
        "spill_bytes": max((k.spill_bytes or 0 for k in target.kernels), default=None),
        "shared_bytes": max((k.shared_bytes for k in target.kernels), default=None),
    }  # fmt: skip


def _told(verdict: Verdict) -> str:
    if not any(t.variants or t.failed for t in verdict.targets):
        return "nothing is launched"
    return ", ".join(
        f"{t.target} {f'ok ({t.variants})' if t.ok else f'{t.status}: {t.message[:160]!r}'}" for t in verdict.targets
    )


def _job(name: str, suite: str, targets: tuple[str, ...], seconds: float) -> Job:
    limits = Limits(compile_s=seconds)
    return Job(
        name, gold_source(name).encode(), suite=suite, kind="compile", targets=targets, timing=False, limits=limits
    )


if __name__ == "__main__":
    sys.exit(main())
