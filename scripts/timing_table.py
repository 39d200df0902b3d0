"""Prints a run made on a GPU as a Markdown table: `python scripts/timing_table.py RUN`."""

from __future__ import annotations

import json
import sys

from kgb_gym.datasets.store import load


def main() -> int:
    """Print the table; exit code 2 without a run."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tables = load(sys.argv[1])
    steps = [s for s in tables.steps.to_pylist() if s["action"] == "submit"]
    episode = tables.episodes.to_pylist()[0]
    versions, hardware = json.loads(episode["versions"]), json.loads(episode["hardware"])
    print(f"{', '.join(hardware['gpus'])}; {hardware['cores']} cores; torch {versions['torch']}, triton "
          f"{versions['triton']}, Python {versions['python']}; {episode['started_at']:%Y-%m-%d}.\n")  # fmt: skip
    print("| operator | cases right | timed | launch-bound | S_i | lower end | median µs, gold / baseline | baseline |")
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for step in sorted(steps, key=lambda s: (s["operator"].partition("/")[0], s["operator"])):
        cases = step["cases"]
        timed = [c["timing"] for c in cases if c["timing"] is not None]
        right = f"{sum(c['passed'] for c in cases)} of {len(cases)}"
        medians = "–"
        if timed:
            middle = [sorted(t[name] for t in timed)[len(timed) // 2] for name in ("submission_us", "baseline_us")]
            medians = f"{middle[0]:.1f} / {middle[1]:.1f}"
        bound = sum(t["launch_bound"] for t in timed)
        print(f"| `{step['operator']}` | {right} | {len(timed)} | {bound} | {_number(step['speedup'])} | "
              f"{_number(step['speedup_lower'])} | {medians} | {step['baseline']} |")  # fmt: skip
    return 0


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
