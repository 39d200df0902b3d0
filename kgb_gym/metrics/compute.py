"""From the two tables of a run to its metrics. Pure functions; suites, platforms and baselines are never pooled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from kgb_gym.metrics import failures
from kgb_gym.metrics.result import GroupKey, GroupMetrics, Metrics, OperatorResult, Summary, Unscored
from kgb_gym.metrics.similarity import round_similarity
from kgb_gym.metrics.statistics import THRESHOLDS, any_of_first, fast, geomean, iqm, median, pass_at_k
from kgb_gym.verdict import Status

Row = Mapping[str, Any]
OVERALL = "overall"
SOURCES = ("aten", "vllm", "cublas")
_NEEDED = (
    *("episode_id", "step", "operator", "action", "verdict_kind", "status", "message", "code", "cases", "clean"),
    *("data_dependent", "reward_valid", "tool", "finish_reason", "targets"),
)


def compute(
    steps: Any, episodes: Any, *, include_synthetic: bool = False, include_incomparable: bool = False
) -> Metrics:
    """The metrics of recorded runs.

    Args:
        steps: the `steps` table (`pyarrow.Table`), possibly of several runs.
        episodes: the `episodes` table.
        include_synthetic: count episodes of scripted policies (gold, canaries) too.
        include_incomparable: count speedups over a baseline that is not the real thing too.
    """
    rows = episodes.to_pylist()
    kept = [e for e in rows if include_synthetic or not e["synthetic"]]
    by_episode = _steps_by_episode(steps)
    groups: dict[GroupKey, list[Row]] = defaultdict(list)
    for episode in kept:
        groups[_key(episode)].append(episode)
    ordered = sorted(groups, key=lambda k: (k.suite, k.platform, k.method, k.model or ""))
    found = tuple(_group(key, groups[key], by_episode, include_incomparable) for key in ordered)
    return Metrics(found, len(rows) - len(kept), _notes(found, len(rows) - len(kept)))


def operator_speedup(cases: Iterable[Row]) -> float | None:
    """S_i: the geometric mean of the speedups of the paper's timed cases that are not launch-bound (equation 1)."""
    timings = [c["timing"] for c in cases if c["origin"] == "paper" and c["timed"] and c["timing"] is not None]
    return geomean(t["speedup"] for t in timings if not t["launch_bound"])


def summarise(operators: Sequence[OperatorResult], *, include_incomparable: bool = False) -> Summary:
    """The metrics over some operators; speedups over incomparable baselines are left out unless asked for."""
    clean = [o for o in operators if o.clean]
    timed = [o for o in clean if o.speedup is not None]
    counted = [o for o in timed if o.comparable or include_incomparable]
    speedups = [o.speedup for o in counted if o.speedup is not None]
    attempted, tokens = len(operators), sum(o.tokens for o in operators)
    return Summary(
        attempted=attempted,
        passed=len(clean),
        clean_pass_rate=len(clean) / attempted if attempted else None,
        clean_paper_rate=sum(o.clean_paper for o in operators) / attempted if attempted else None,
        pass_at={k: pass_rate(operators, k) for k in range(1, max((len(o.samples) for o in operators), default=0) + 1)},
        speedup=geomean(speedups),
        median=median(speedups),
        iqm=iqm(speedups),
        fast={p: fast(speedups, p, attempted) if speedups else None for p in THRESHOLDS},
        timed=len(counted),
        incomparable=len(timed) - len(counted),
        hacks=sum(o.hacks for o in operators),
        tokens=tokens,
        tokens_per_success=tokens / len(clean) if clean else None,
        wall_s=sum(o.wall_s for o in operators),
        **_portability(clean),
    )


def _portability(clean: Sequence[OperatorResult]) -> dict[str, Any]:
    found: dict[str, list[bool]] = defaultdict(list)
    for operator in clean:
        for target, compiles in operator.compiles.items():
            found[target].append(compiles)
    several = [o.portable for o in clean if o.portable is not None]
    return {
        "compiles": {t: sum(oks) / len(oks) for t, oks in sorted(found.items())},
        "portable": sum(several) / len(several) if several else None,
        "compiled": len(several),
    }


def pass_rate(operators: Sequence[OperatorResult], k: int) -> float | None:
    """Pass@k over operators: estimated without bias where all samples were drawn, any-of-first-k where drawing stopped
    at a pass. None if some operator had neither a pass nor k samples."""
    rates: list[float] = []
    for operator in operators:
        n = len(operator.samples)
        if not operator.early_stop and n >= k:
            rates.append(pass_at_k(n, sum(operator.samples), k))
        elif (passed := any_of_first(operator.samples, k)) is not None and operator.early_stop:
            rates.append(float(passed))
        else:
            return None
    return fmean(rates) if rates else None


def _group(
    key: GroupKey, episodes: list[Row], steps: Mapping[tuple[Any, ...], list[Row]], include: bool
) -> GroupMetrics:
    again = {_planned(e) for e in episodes if e["complete"] is not False}
    episodes = [e for e in episodes if e["complete"] is not False or _planned(e) not in again]
    scored = [e for e in episodes if _reason(e) is None]
    told = {_planned(e) for e in scored}
    unscored = tuple(
        Unscored(e["episode_id"], e["operator"], reason)
        for e in episodes
        if (reason := _reason(e)) is not None and _planned(e) not in told
    )
    by_operator: dict[str, list[Row]] = defaultdict(list)
    for episode in scored:
        by_operator[episode["operator"]].append(episode)
    results = tuple(_operator(name, found, steps) for name, found in sorted(by_operator.items(), key=_paper_order))
    groups = {OVERALL: results} | {s: tuple(o for o in results if o.source == s) for s in SOURCES}
    # Of scored episodes alone: the others are played again, and must not count twice.
    answers = [s for e in scored for s in steps.get((e["run_id"], e["episode_id"]), [])]
    submissions = [s for s in answers if s["action"] != "tool"]
    similar = [o.similarity for o in results if o.similarity is not None]
    hacked = Counter(str(s["operator"]).partition("/")[0] for s in submissions if s["status"] == Status.HACK)
    return GroupMetrics(
        key=key,
        summaries={n: summarise(o, include_incomparable=include) for n, o in groups.items() if o or n == OVERALL},
        operators=results,
        failures=failures.count(answers),
        hacks=dict(sorted(hacked.items())),
        similarity=fmean(similar) if similar else None,
        unscored=unscored,
    )


def _operator(name: str, episodes: list[Row], steps: Mapping[tuple[Any, ...], list[Row]]) -> OperatorResult:
    drawn = sorted(episodes, key=lambda e: (e["sample"] or 0, str(e["started_at"] or ""), e["episode_id"]))
    submissions = [s for e in drawn for s in _submissions(steps, e)]
    winner = next((e for e in drawn if e["clean_pass"]), None)
    best = next((s for s in _submissions(steps, winner) if s["step"] == winner["best_step"]), None) if winner else None
    return OperatorResult(
        operator=name,
        source=name.partition("/")[0],
        clean=winner is not None,
        clean_paper=any(bool(e["clean_paper"]) for e in drawn),
        outcome=(winner or drawn[-1])["outcome"],
        samples=tuple(bool(e["clean_pass"]) for e in drawn),
        early_stop=any(bool(e["early_stop"]) for e in drawn),
        speedup=operator_speedup(best["cases"] or ()) if best else None,
        comparable=winner["comparable"] if winner else None,
        hacks=sum(s["status"] == Status.HACK for s in submissions),
        tokens=sum(e["total_tokens"] or 0 for e in drawn),
        wall_s=sum(e["wall_s"] or 0.0 for e in drawn),
        similarity=_similarity([[s["code"] for s in _submissions(steps, e) if s["code"] is not None] for e in drawn]),
        data_dependent=bool(best and best["data_dependent"]),
        compiles={
            t["target"]: t["status"] == Status.PASSED
            for t in (best["targets"] if best else None) or ()
            if t["variants"] or t["failed"] or t["status"] != Status.PASSED
        },
    )


def _similarity(rounds: list[list[str]]) -> float | None:
    """Between the rounds of an episode where episodes have several; else between independent samples."""
    within = [r for sources in rounds if (r := round_similarity(sources)) is not None]
    return fmean(within) if within else round_similarity([source for sources in rounds for source in sources])


def _reason(episode: Row) -> str | None:
    """Why an episode is unscored; None if it counts. A clean pass counts however the episode ended."""
    if episode["clean_pass"]:
        return None
    if episode["complete"] is False:
        return "interrupted"
    return "harness_error" if episode["reward_valid"] is False or episode["outcome"] == Status.HARNESS_ERROR else None


def _planned(episode: Row) -> tuple[Any, ...]:
    """Which episode of a run it is: one that was cut off and is played again has the same seed."""
    return (
        episode["run_id"],
        episode["operator"],
        episode["episode_id"] if episode["seed"] is None else episode["seed"],
    )


def _key(row: Row) -> GroupKey:
    return GroupKey(row["method"] or "unknown", row["model"], row["suite"] or "unknown", row["platform"] or "unknown")


def _steps_by_episode(steps: Any) -> dict[tuple[Any, ...], list[Row]]:
    names = [*_NEEDED, "run_id"]
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in steps.select(names).to_pylist():
        found[(row["run_id"], row["episode_id"])].append(row)
    for rows in found.values():
        rows.sort(key=lambda r: r["step"])
    return found


def _submissions(steps: Mapping[tuple[Any, ...], list[Row]], episode: Row) -> list[Row]:
    rows = steps.get((episode["run_id"], episode["episode_id"]), [])
    return [s for s in rows if s["action"] != "tool"]


def _paper_order(item: tuple[str, Any]) -> tuple[int, str]:
    source, _, name = item[0].partition("/")
    return (SOURCES.index(source) if source in SOURCES else len(SOURCES), name)


def _notes(groups: Sequence[GroupMetrics], synthetic: int) -> tuple[str, ...]:
    notes = []
    if synthetic:
        notes.append(f"{_many(synthetic, 'synthetic episode')} left out (scripted policies)")
    if unscored := sum(len(g.unscored) for g in groups):
        notes.append(f"{_many(unscored, 'episode')} unscored (harness error or interrupted), not counted as failures")
    if incomparable := sum(g.summaries[OVERALL].incomparable for g in groups):
        notes.append(f"{_many(incomparable, 'speedup')} left out, as the baseline is not the real thing")
    return tuple(notes)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
