"""From values to rows and back: a verdict as columns, a step, and an episode summed up from its steps.

Rows are plain dicts by column name. `step_row` and `episode_row` refuse names that the schema doesn't have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kgb_gym.datasets import schema
from kgb_gym.verdict import Stage, Status, Verdict

INTERRUPTED = "interrupted"
NO_SUBMISSION = "no_submission"

Row = dict[str, Any]

_SHARED = (
    *("operator", "source_sha256", "suite", "platform", "stage", "status", "message", "clean", "clean_paper"),
    *("hacks", "baseline", "only_defined", "data_dependent", "speedup", "speedup_lower"),
    *("calibration", "profile", "clocks", "compiled_for", "layers", "notes"),
)
"""Fields of a verdict that are columns of the same name and form."""


def dumps(value: Any) -> str:
    """JSON with sorted keys; what JSON does not know is written as text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def verdict_columns(verdict: Verdict) -> Row:
    """The columns of `steps` that a verdict fills."""
    plain = verdict.to_dict()
    return {
        "operator": verdict.operator,
        "source": verdict.operator.partition("/")[0],
        "suite": verdict.suite,
        "platform": verdict.platform,
        "source_sha256": verdict.source_sha256,
        "verdict_kind": verdict.kind,
        "verdict_seed": verdict.seed,
        "stage": verdict.stage.value,
        "status": verdict.status.value,
        "message": verdict.message,
        "clean": verdict.clean,
        "clean_paper": verdict.clean_paper,
        "only_defined": verdict.only_defined,
        "data_dependent": verdict.data_dependent,
        "cases": [_case(c) for c in plain["cases"]],
        "hacks": plain["hacks"],
        "baseline": verdict.baseline,
        "speedup": verdict.speedup,
        "speedup_lower": verdict.speedup_lower,
        "calibration": plain["calibration"],
        "profile": plain["profile"],
        "clocks": plain["clocks"],
        "compiled_for": list(verdict.compiled_for),
        "targets": [_target(t) for t in plain["targets"]],
        "layers": list(verdict.layers),
        "notes": list(verdict.notes),
        "durations": [{"phase": k, "seconds": float(v)} for k, v in sorted(verdict.durations.items())],
        "reward_valid": verdict.reward_valid,
    }


def verdict_from_row(row: Mapping[str, Any]) -> Verdict:
    """Inverse of `verdict_columns`.

    Raises:
        ValueError: the step has no verdict.
    """
    if row.get("verdict_kind") is None:
        raise ValueError(f"step {row.get('step')} of episode {row.get('episode_id')} has no verdict")
    data = {name: row[name] for name in _SHARED}
    data |= {"kind": row["verdict_kind"], "seed": row["verdict_seed"]}
    data["targets"] = [_untarget(t) for t in row.get("targets") or ()]
    data["cases"] = [_uncase(c) for c in row["cases"]]
    data["durations"] = {d["phase"]: d["seconds"] for d in row.get("durations") or ()}
    return Verdict.from_dict(data)


def step_row(
    verdict: Verdict | None = None,
    *,
    reward_terms: Mapping[str, float] | None = None,
    messages: Iterable[Mapping[str, Any]] | None = None,
    tool_arguments: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    **columns: Any,
) -> Row:
    """A row of `steps`: the verdict's columns, and whatever else is given by column name.

    Args:
        verdict: what came of the step's source; None for a tool call that verifies nothing.
        reward_terms: named parts of the reward; `reward` defaults to their sum.
        messages: what was sent to the model; content that is not text is stored as JSON.
        tool_arguments: stored as JSON.
        sampling: settings by name; those that have no column of their own go to `extra`.
        **columns: other columns; they win over the verdict's.

    Raises:
        ValueError: a name is no column.
    """
    row: Row = verdict_columns(verdict) if verdict is not None else {"reward_valid": True}
    row["action"] = "tool" if columns.get("tool") else "submit"
    if reward_terms is not None:
        row["reward_terms"] = [{"name": k, "value": float(v)} for k, v in reward_terms.items()]
        row["reward"] = float(sum(reward_terms.values()))
    if messages is not None:
        row["messages"] = [{"role": str(m["role"]), "content": _text(m.get("content"))} for m in messages]
    if tool_arguments is not None:
        row["tool_arguments"] = dumps(tool_arguments)
    if sampling is not None:
        row["sampling"] = _sampling(sampling)
    row |= columns
    if row.get("source") is None and row.get("operator"):
        row["source"] = row["operator"].partition("/")[0]
    _clock(row)
    return checked("steps", row)


def episode_row(steps: Sequence[Mapping[str, Any]], *, complete: bool = True, **columns: Any) -> Row:
    """A row of `episodes`, summed up from the rows of its steps; other columns by name win over the sums.

    Raises:
        ValueError: a name is no column, or there are neither steps nor an `episode_id`.
    """
    shared = [c.name for c in schema.EPISODE_COLUMNS if c.name in schema.STEPS.names]
    first = steps[0] if steps else {}
    row: Row = {name: first.get(name) for name in shared}
    submissions = [s for s in steps if s.get("action") != "tool"]
    best = max(submissions, key=merit, default=None)
    scored = [s for s in steps if s.get("reward_valid") is not False]
    row |= {
        "n_steps": len(steps),
        "n_submissions": len(submissions),
        "clean_pass": any(bool(s.get("clean")) for s in submissions),
        "clean_paper": any(bool(s.get("clean_paper")) for s in submissions),
        "hacked": any(s.get("status") == Status.HACK for s in submissions),
        "reward_valid": not submissions or any(s.get("reward_valid") is not False for s in submissions),
        "reward_total": float(sum(s.get("reward") or 0.0 for s in scored)),
        "complete": complete,
        "best_step": best["step"] if best else None,
        "baseline": best.get("baseline") if best else None,
        "speedup": best.get("speedup") if best else None,
        "speedup_lower": best.get("speedup_lower") if best else None,
        "total_tokens": _total(steps, "tokens"),
        "ended_at": max((s["ended_at"] for s in steps if s.get("ended_at")), default=None),
        "synthetic": any(bool(s.get("synthetic")) for s in steps),
        "wall_s": _total(steps, "wall_s"),
    }
    row |= {name: _total(steps, name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}
    row["outcome"] = INTERRUPTED if not complete else best["status"] if best else NO_SUBMISSION
    timed = row["speedup"] is not None
    row["comparable"] = comparable(row["baseline"]) if timed else None
    _clock(row, overwrite="wall_s" not in columns)
    row |= columns
    for name in ("versions", "hardware"):
        if isinstance(row.get(name), Mapping):
            row[name] = dumps(row[name])
    if row.get("source") is None and row.get("operator"):
        row["source"] = row["operator"].partition("/")[0]
    if not row.get("episode_id"):
        raise ValueError("an episode without steps needs its `episode_id`")
    return checked("episodes", row)


def merit(step: Mapping[str, Any]) -> tuple[float, ...]:
    """Sort key of a submission: scored before not, honest before hack, clean, faster, more right, further."""
    cases = step.get("cases") or ()
    right = sum(bool(c["passed"]) for c in cases) / len(cases) if cases else 0.0
    speed = step.get("speedup_lower")
    return (
        step.get("reward_valid") is not False,
        step.get("status") != Status.HACK,
        bool(step.get("clean")),
        -1.0 if speed is None else float(speed),
        right,
        Stage(step["stage"]).rank if step.get("stage") else -1,
    )


def comparable(baseline: str | None) -> bool:
    """Whether a speedup over this baseline may stand beside others: only the real thing's may."""
    return bool(baseline) and baseline != "none" and "not comparable" not in str(baseline)


def checked(table: str, row: Mapping[str, Any]) -> Row:
    """The row, when the schema knows all its names.

    Raises:
        ValueError: it doesn't, or the key is missing.
    """
    if unknown := sorted(set(row) - set(schema.TABLES[table].names)):
        raise ValueError(f"no such columns in {table}: {', '.join(unknown)}; kgb_gym/datasets/schema.py lists them")
    return dict(row)


def _case(case: Mapping[str, Any]) -> Row:
    row = dict(case, params=dumps(case["params"]))
    if (difference := case["difference"]) is not None:
        row["difference"] = dict(
            difference,
            max_abs=float(difference["max_abs"]),
            max_rel=float(difference["max_rel"]),
            expected=dumps(difference["expected"]),
            got=dumps(difference["got"]),
        )
    if (timing := case["timing"]) is not None:
        row["timing"] = {
            k: float(v) if v is not None and k.endswith(("_us", "speedup")) else v for k, v in timing.items()
        }
        row["timing"]["interval"] = [float(v) for v in timing["interval"]]
    return row


def _target(target: Mapping[str, Any]) -> Row:
    kernels = [
        dict(k, instructions=[{"kind": n, "count": c} for n, c in k["instructions"].items()]) for k in target["kernels"]
    ]
    return dict(target, kernels=kernels)


def _untarget(target: Mapping[str, Any]) -> Row:
    kernels = [dict(k, instructions={i["kind"]: i["count"] for i in k["instructions"]}) for k in target["kernels"]]
    return dict(target, kernels=kernels)


def _uncase(case: Mapping[str, Any]) -> Row:
    row = dict(case, params=json.loads(case["params"]))
    if (difference := case["difference"]) is not None:
        row["difference"] = dict(
            difference, expected=json.loads(difference["expected"]), got=json.loads(difference["got"])
        )
    return row


def _sampling(settings: Mapping[str, Any]) -> Row:
    own = ("temperature", "top_p", "max_tokens", "seed")
    row: Row = {name: settings.get(name) for name in own}
    others = {k: v for k, v in settings.items() if k not in own and k != "extra"}
    extra = settings.get("extra")
    row["extra"] = dumps(others) if others else extra if isinstance(extra, str | None) else dumps(extra)
    return row


def _text(content: Any) -> str | None:
    return content if content is None or isinstance(content, str) else dumps(content)


def _total(steps: Sequence[Mapping[str, Any]], name: str) -> Any:
    known = [s[name] for s in steps if s.get(name) is not None]
    return sum(known) if known else None


def _clock(row: Row, *, overwrite: bool = False) -> None:
    started, ended = row.get("started_at"), row.get("ended_at")
    if (overwrite or row.get("wall_s") is None) and isinstance(started, datetime) and isinstance(ended, datetime):
        row["wall_s"] = (ended - started).total_seconds()
