"""`kgb run`: one method over operators, into a folder."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgb_gym.cli import find
from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import console, print_json, reserved_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgb_gym.runs import RunConfig, Summary

ENGINES = ("local",)
INTERRUPTED = 130


def run(
    *,
    method: str,
    operators: str,
    out: Path,
    suite: str,
    platform: str,
    workers: int | None,
    engine: str,
    seed: int,
    samples: int,
    time_limit: float | None,
    as_json: bool,
) -> int:
    """Carry a run out, or go on with it; gives the exit code."""
    if engine not in ENGINES:
        raise WrongUse(f"unknown engine {engine!r}: use {', '.join(ENGINES)}")
    count = workers if workers is not None else len(os.sched_getaffinity(0))
    if count < 1:
        raise WrongUse(f"--workers must be at least 1, got {count}")
    config = _config(method, operators, suite, platform, seed, samples, time_limit)
    with ExitStack() as stack:
        file = stack.enter_context(reserved_stdout()) if as_json else None
        stack.enter_context(_terminations_are_interrupts())
        summary = _carry_out(config, out, count)
        if file is not None:
            print_json(summary.to_dict(), file)
    if not as_json:
        _print(summary)
    if summary.interrupted:
        return INTERRUPTED
    return 1 if summary.failed or not summary.complete else 0


def _config(
    method: str, operators: str, suite: str, platform: str, seed: int, samples: int, time_limit: float | None
) -> RunConfig:
    from kgb_gym.baselines import policies
    from kgb_gym.runs import RunConfig
    from kgb_gym.verification.protocols import Limits

    if method not in policies():
        raise WrongUse(f"unknown method {method!r}: use one of {', '.join(policies())}")
    place = find.platform(platform)
    limits = Limits()
    if time_limit is not None:
        if not time_limit > 0:
            raise WrongUse(f"--time-limit must be positive, got {time_limit}")
        limits = replace(limits, correctness_s=time_limit, call_s=min(limits.call_s, time_limit))
    try:
        return RunConfig(
            method=method,
            operators=find.match(operators),
            suite=find.suite(suite, place),
            platform=place.name,
            seed=seed,
            samples=samples,
            limits=limits,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from None


def _carry_out(config: RunConfig, out: Path, workers: int) -> Summary:
    from kgb_gym.datasets.runfile import ConfigMismatch
    from kgb_gym.runs import LiveProgress, PlainProgress, Run
    from kgb_gym.runs.run import FolderBusy
    from kgb_gym.sandbox import LocalEngine

    progress = LiveProgress() if sys.stderr.isatty() else PlainProgress()
    engine = LocalEngine(workers=workers, platform=config.platform)
    try:
        return Run(config, out, engine=engine, workers=workers, progress=progress).carry_out()
    except (ConfigMismatch, FileExistsError, NotADirectoryError, FolderBusy, PermissionError) as error:
        raise WrongUse(str(error)) from None
    except KeyboardInterrupt:
        # Interrupted twice: what the turns in work would have said is lost, what was returned is on the disk.
        engine.close()
        print(f"kgb: stopped at once; the same command goes on with {out}", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)
    finally:
        engine.close()


def _print(summary: Summary) -> None:
    out = console()
    done, total = len(summary.outcomes), summary.total
    text = f"{done} of {total} episodes, {summary.clean} clean"
    if summary.unscored:
        text += f", {summary.unscored} unscored (our failure; the same command takes them up again)"
    out.print(f"{text}: {summary.folder}")
    if any(o.outcome == "error" for o in summary.outcomes):
        out.print(f"errors are in {summary.folder / 'errors.log'}")
    if not summary.complete:
        out.print("the same command goes on from here")
    else:
        out.print(f"`kgb report {summary.folder}` prints the tables", style="dim")


@contextmanager
def _terminations_are_interrupts() -> Iterator[None]:
    """SIGTERM ends a run as cleanly as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
