"""A small table of episodes, built from real verdicts, whose metrics can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from verdicts import case, timing, verdict

from kgb_gym.datasets import journal
from kgb_gym.datasets.rows import episode_row, step_row
from kgb_gym.verdict import Status, Verdict

SETTING: dict[str, Any] = {"run_id": "r", "method": "pass@2", "model": "M", "suite": "paper", "platform": "nvidia"}


class Builder:
    """Collects episodes and gives the two tables."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.episodes: list[Any] = []

    def episode(self, operator: str, *verdicts: Verdict, codes: tuple[str, ...] = (), **columns: Any) -> None:
        name = f"e{len(self.episodes)}"
        about = SETTING | {k: columns.pop(k) for k in ("method", "model", "suite", "platform") if k in columns}
        rows = [
            step_row(
                v,
                **about
                | {"episode_id": name, "step": i, "operator": operator, "tokens": 100, "wall_s": 2.0}
                | {"code": codes[i] if codes else f"source {i}", "synthetic": columns.get("synthetic", False)},
            )
            for i, v in enumerate(verdicts)
        ]
        row = episode_row(
            rows, **{"episode_id": name, "run_id": "r", "operator": operator, "sample": 0, **about} | columns
        )
        self.steps += [journal.encode("steps", r) for r in rows]
        self.episodes.append(journal.encode("episodes", row))

    def tables(self) -> tuple[Any, Any]:
        from kgb_gym.datasets import schema

        return (
            pa.Table.from_batches(self.steps, schema=schema.STEPS),
            pa.Table.from_batches(self.episodes, schema=schema.EPISODES),
        )


def timed(operator: str, *speedups: float, baseline: str = "native", **fields: Any) -> Verdict:
    """A clean verdict with one timed paper case a speedup, and cases that must not count."""
    cases = [case(f"c{i}", speedup=s) for i, s in enumerate(speedups)]
    cases.append(case("tiny", timed=True, timing=timing(50.0, launch_bound=True)))
    cases.append(case("ours", origin="extra", speedup=90.0))
    return verdict(operator, cases=tuple(cases), baseline=baseline, speedup=1.0, speedup_lower=0.9, **fields)


def failed(operator: str, status: Status = Status.MISMATCH, **fields: Any) -> Verdict:
    return verdict(operator, status=status, **fields)
