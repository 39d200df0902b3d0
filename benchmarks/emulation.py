"""On which emulated platforms the gold kernels pass: `python -m benchmarks.emulation [--suite S] [OPERATOR…]`.

The golds were written for NVIDIA and the interpreter; what fails here shows how far "works on NVIDIA" is from portable.
An emulation refuses what such a backend would; it says nothing about speed (docs/platforms.md).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import results
from kgb_gym.operators import gold_source, match
from kgb_gym.platforms import PLATFORMS
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Verdict
from kgb_gym.verification.protocols import Job

EMULATED = tuple(name for name, p in PLATFORMS.items() if p.emulation is not None)


def main() -> int:
    """Print a line an operator and the rate of each platform; keeps the rows in a cumulative file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", default=["aten/*"])
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--platform", action="append", choices=EMULATED, help="may be repeated; default: all")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip-known", action="store_true", help="leave out operators whose row is of this gold")
    parser.add_argument("--json", type=Path, default=results.DATA / "emulation.json")
    given = parser.parse_args()
    platforms = tuple(given.platform or EMULATED)
    known = results.read(given.json) if given.skip_known else {}
    chosen = [n for n in match(given.operators) if known.get(n, {}).get("gold") != results.gold_hash(n)]
    passed, started = Counter[str](), time.monotonic()
    with LocalEngine(workers=given.workers, platform="cpu") as engine:
        for name in chosen:
            futures = {p: engine.submit(_job(name, given.suite, p, given.seed)) for p in platforms}
            row = {p: summary(future.result()) for p, future in futures.items()}
            passed.update(p for p, each in row.items() if each["clean"])
            told = ", ".join(f"{p} {'clean' if each['clean'] else each['message'][:140]!r}" for p, each in row.items())
            print(f"{name}: {told}", flush=True)
            results.write(given.json, name, {"suite": given.suite, "seed": given.seed, "platforms": row})
    rates = ", ".join(f"{p} {passed[p]}" for p in platforms)
    print(f"clean of {len(chosen)}: {rates}; {time.monotonic() - started:.0f} s with {given.workers} workers")
    return 0


def summary(verdict: Verdict) -> dict[str, Any]:
    """What came of one gold on one platform."""
    return {
        "status": str(verdict.status), "clean": verdict.clean,
        "message": "" if verdict.clean else verdict.message[:400],
    }  # fmt: skip


def _job(name: str, suite: str, platform: str, seed: int) -> Job:
    return Job(name, gold_source(name).encode(), suite=suite, platform=platform, seed=seed, timing=False)


if __name__ == "__main__":
    sys.exit(main())
