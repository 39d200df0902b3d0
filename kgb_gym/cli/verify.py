"""`kgb verify` and `kgb compile`: one submission, judged once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgb_gym.cli import find
from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import console, print_json, reserved_stdout
from kgb_gym.verdict import Status

if TYPE_CHECKING:
    from kgb_gym.verdict import Verdict
    from kgb_gym.verification.protocols import Job

TARGETS = ("sm_80", "sm_90", "sm_100", "gfx942")


def verify(
    name: str,
    file: str,
    *,
    suite: str = "auto",
    platform: str = "auto",
    only_defined: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    as_json: bool = False,
) -> int:
    """Verify a file against an operator and print the verdict; gives the exit code."""
    from kgb_gym.verification.protocols import Job, Limits

    operator = find.operator(name)
    place = find.platform(platform)
    if seed < 0:
        raise WrongUse(f"--seed must not be negative, got {seed}")
    limits = Limits()
    if time_limit is not None:
        if not time_limit > 0:
            raise WrongUse(f"--time-limit must be positive, got {time_limit}")
        limits = replace(limits, correctness_s=time_limit, call_s=min(limits.call_s, time_limit))
    job = Job(
        operator=operator.id,
        source=find.submission(file),
        suite=find.suite(suite, place),
        platform=place.name,
        seed=seed,
        only_defined=only_defined,
        limits=limits,
    )
    return _judge(job, as_json)


def compile_file(
    name: str, file: str, *, targets: tuple[str, ...], platform: str = "auto", as_json: bool = False
) -> int:
    """Compile every kernel that a file launches for the targets and print what came of it; gives the exit code."""
    from kgb_gym.verification.protocols import Job

    operator = find.operator(name)
    place = find.platform(platform)
    for target in targets:
        if not target.startswith(("sm_", "gfx")):
            raise WrongUse(f"unknown target {target!r}: use one such as {', '.join(TARGETS)}")
    job = Job(
        operator=operator.id,
        source=find.submission(file),
        suite="smoke",
        platform=place.name,
        kind="compile",
        targets=targets,
    )
    return _judge(job, as_json)


def _judge(job: Job, as_json: bool) -> int:
    if as_json:
        with reserved_stdout() as out:
            verdict, _ = _submit(job)
            print_json(verdict.to_dict(), out)
    else:
        verdict, seconds = _submit(job)
        out_console = console()
        if job.kind == "compile" and verdict.compiled_for:
            out_console.print(f"compiled for {', '.join(verdict.compiled_for)}")
        from kgb_gym.cli.render import print_verdict

        print_verdict(verdict, out_console, seconds)
    return 0 if verdict.status is Status.PASSED else 1


def _submit(job: Job) -> tuple[Verdict, float]:
    from kgb_gym.sandbox import shared_engine

    engine = shared_engine(job.platform)
    engine.start()
    started = time.perf_counter()
    verdict = engine.submit(job).result()
    return verdict, time.perf_counter() - started
