"""Hostile and honest submissions, each judged end to end.

`exploits/` must never pass, `honest/` must always; each file's header says what is expected and why. A folder of
further files in the same form is tried as well if the variable KGB_CORPUS names one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from kgb_gym.operators import get, names, normalise
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Stage, Status, Verdict
from kgb_gym.verification.protocols import Job, Limits

OWN = Path(__file__).parent
FURTHER = Path(os.environ["KGB_CORPUS"]) if os.environ.get("KGB_CORPUS") else None
SCREENED = {"screen"}
LIMITS = Limits(call_s=15.0, correctness_s=60.0, memory_bytes=2 << 30)
MAY_END_OTHERWISE = ("K", "N", "S", "C01", "C10")
"""Classes of the further corpus that need not be hacks: a mismatch, a timeout or a limit is as good. Of C, because a
cache that is never hit leaves an ordinary record, and memory as it was allocated is poisoned and so plainly wrong."""


def header(path: Path) -> dict[str, str]:
    """The `# name: value` lines at the top of a file."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line.startswith("# ") or ":" not in line:
            break
        name, _, value = line[2:].partition(":")
        found[name.strip()] = value.strip()
    return found


def files(folder: Path, kind: str) -> list[Path]:
    return sorted((folder / kind).glob("*.py"))


def further(kind: str) -> list[Path]:
    """Files of the further corpus whose operator exists."""
    if FURTHER is None:
        return []
    return [p for p in files(FURTHER, kind) if normalise(header(p)["operator"]) in names()]


def job(path: Path) -> Job:
    head = header(path)
    limits = replace(LIMITS, call_s=float(head.get("call_s", LIMITS.call_s)))
    suite = head.get("suite", "quick")
    return Job(get(head["operator"]).id, path.read_bytes(), suite=suite, only_defined=True, limits=limits)


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[Verdict]]]:
    """Verdicts to come of every file that the selected tests ask for, judged two at a time."""
    mine = [
        i.callspec.params.get("path")
        for i in request.session.items
        if i.path == request.path and hasattr(i, "callspec")
    ]
    with LocalEngine(workers=2, platform="cpu") as engine:
        yield {path: engine.submit(job(path)) for path in mine if isinstance(path, Path)}


@pytest.mark.parametrize("path", files(OWN, "exploits"), ids=lambda p: p.stem)
def test_exploit_never_passes(verdicts: dict[Path, Future[Verdict]], path: Path) -> None:
    head = header(path)
    verdict = verdicts[path].result()
    assert verdict.status not in (Status.PASSED, Status.HARNESS_ERROR, Status.SYNTAX_ERROR), verdict.message
    assert not verdict.clean and verdict.reward_valid
    if head["expect"] == "hack":
        assert verdict.status is Status.HACK, f"{verdict.status}: {verdict.message}"
        first = verdict.hacks[0]
        assert first.rule and first.message
        layer = "play" if first.layer == "hidden" else first.layer  # which case comes first is drawn
        assert layer == head.get("layer", "screen"), f"{first.layer}: {first.message}"
        if first.layer in SCREENED:
            assert first.line is not None and verdict.stage is Stage.PARSED


@pytest.mark.parametrize("path", files(OWN, "honest"), ids=lambda p: p.stem)
def test_honest_passes(verdicts: dict[Path, Future[Verdict]], path: Path) -> None:
    verdict = verdicts[path].result()
    assert verdict.status is Status.PASSED, f"{verdict.message} {verdict.hacks}"
    assert not verdict.hacks and all(c.passed for c in verdict.cases)


@pytest.mark.parametrize("path", further("exploits"), ids=lambda p: p.stem)
def test_further_exploit_never_passes(verdicts: dict[Path, Future[Verdict]], path: Path) -> None:
    verdict = verdicts[path].result()
    assert verdict.status not in (Status.PASSED, Status.HARNESS_ERROR), verdict.message
    if not header(path)["class"].startswith(MAY_END_OTHERWISE):
        assert verdict.status is Status.HACK, f"{verdict.status}: {verdict.message}"


@pytest.mark.parametrize("path", further("honest"), ids=lambda p: p.stem)
def test_further_honest_passes(verdicts: dict[Path, Future[Verdict]], path: Path) -> None:
    verdict = verdicts[path].result()
    assert verdict.status is Status.PASSED, f"{verdict.message} {verdict.hacks}"


@pytest.mark.skipif(FURTHER is not None, reason="it is there")
def test_further_corpus_is_named() -> None:
    pytest.skip("KGB_CORPUS names no folder: the further corpus is not tried")


def test_headers() -> None:
    """Every file says what it is; every class has a file; honest ones are many."""
    classes = set()
    for path in files(OWN, "exploits"):
        head = header(path)
        assert path.stem.startswith(head["class"] + "_"), path
        assert head["expect"] in ("hack", "not-passed") and head["why"], path
        assert normalise(head["operator"]) in names(), path
        classes.add(head["class"])
    assert len(classes) >= 79
    assert len(files(OWN, "honest")) >= 15
    for path in files(OWN, "honest"):
        assert header(path)["expect"] == "clean" and header(path)["why"], path
