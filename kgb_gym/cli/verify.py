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
    find.offered((operator.id,), place)
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
    name: str,
    file: str,
    *,
    targets: tuple[str, ...],
    suite: str = "smoke",
    platform: str = "auto",
    time_limit: float | None = None,
    as_json: bool = False,
) -> int:
    """Compile every kernel that a file launches for the targets and print what came of each; gives the exit code."""
    from kgb_gym.verification.protocols import Job, Limits

    operator = find.operator(name)
    place = find.platform(platform)
    limits = Limits()
    if time_limit is not None:
        if not time_limit > 0:
            raise WrongUse(f"--time-limit must be positive, got {time_limit}")
        limits = replace(limits, compile_s=time_limit)
    job = Job(
        operator=operator.id,
        source=find.submission(file),
        suite=find.suite(suite, place),
        platform=place.name,
        kind="compile",
        targets=find.targets(targets) or place.compile_targets,
        limits=limits,
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
        from kgb_gym.cli.render import print_targets, print_verdict

        print_verdict(verdict, out_console, seconds)
        if job.kind == "compile":
            print_targets(verdict.targets, out_console)
    return 0 if verdict.status is Status.PASSED else 1


def _submit(job: Job) -> tuple[Verdict, float]:
    from kgb_gym.sandbox import shared_engine

    engine = shared_engine(job.platform)
    engine.start()
    started = time.perf_counter()
    verdict = engine.submit(job).result()
    return verdict, time.perf_counter() - started
