"""`kgb run`: one method over operators, into a folder."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kgb_gym.cli import run_options
from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import console, print_json, reserved_stdout
from kgb_gym.cli.run_options import Options
from kgb_gym.cli.run_policies import Factory, policies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgb_gym.baselines.methods import Method
    from kgb_gym.runs import Account, Progress, RunConfig, Summary

__all__ = ["Options", "run"]

PROGRESS = ("auto", "live", "plain", "json")
INTERRUPTED = 130


def run(options: Options) -> int:
    """Carry a run out, or go on with it; gives the exit code."""
    from kgb_gym.baselines.models.errors import Hopeless
    from kgb_gym.sandbox.engines import ENGINES

    if options.engine not in ENGINES:
        raise WrongUse(f"unknown engine {options.engine!r}: use {', '.join(ENGINES)}")
    if options.progress not in PROGRESS:
        raise WrongUse(f"unknown --progress {options.progress!r}: use {', '.join(PROGRESS)}")
    workers = options.workers if options.workers is not None else len(os.sched_getaffinity(0))
    episodes = options.episodes if options.episodes is not None else workers
    for name, count in (("--workers", workers), ("--episodes", episodes)):
        if count < 1:
            raise WrongUse(f"{name} must be at least 1, got {count}")
    found = run_options.method(options)
    config = run_options.config(options, found)
    account = run_options.account(options)
    if options.dry_run:
        _print_plan(options, found, config)
        return 0
    with ExitStack() as stack:
        file = stack.enter_context(reserved_stdout()) if options.as_json else None
        stack.enter_context(_terminations_are_interrupts())
        try:
            made = stack.enter_context(policies(options, found))
            summary = _carry_out(options, config, made, account, workers, episodes)
        except Hopeless as error:
            raise WrongUse(str(error)) from None
        if file is not None:
            print_json(summary.to_dict(), file)
    if not options.as_json:
        _print(summary)
    if summary.interrupted:
        return INTERRUPTED
    return 1 if summary.failed or not summary.complete else 0


def _carry_out(
    options: Options, config: RunConfig, made: Factory | None, account: Account, workers: int, episodes: int
) -> Summary:
    from kgb_gym.datasets.runfile import ConfigMismatch
    from kgb_gym.runs import Run
    from kgb_gym.runs.run import FolderBusy
    from kgb_gym.sandbox import engines

    try:
        engine = engines.make(options.engine, workers=workers, platform=config.platform)
    except engines.EngineError as error:
        raise WrongUse(str(error)) from None
    try:
        return Run(
            config,
            options.out,
            engine=engine,
            workers=episodes,
            progress=_progress(options.progress),
            policies=made,
            account=account,
        ).carry_out()
    except (ConfigMismatch, FileExistsError, NotADirectoryError, FolderBusy, PermissionError) as error:
        raise WrongUse(str(error)) from None
    except KeyboardInterrupt:
        # Interrupted twice: what the turns in work would have said is lost, what was returned is on the disk.
        engine.close()
        print(f"kgb: stopped at once; the same command goes on with {options.out}", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)
    finally:
        engine.close()


def _progress(kind: str) -> Progress:
    from kgb_gym.runs import JsonProgress, LiveProgress, PlainProgress

    if kind == "json":
        return JsonProgress()
    live = kind == "live" or (kind == "auto" and sys.stderr.isatty())
    return LiveProgress() if live else PlainProgress()


def _print_plan(options: Options, found: Method, config: RunConfig) -> None:
    from kgb_gym.runs import plan, read_prices
    from kgb_gym.runs.estimate import estimate

    bounds = None
    if found.kind == "model":
        prices = read_prices(options.prices, options.model or "") if options.prices is not None else None
        remembers = found.name in ("reflection", "tool-agent")
        bounds = estimate(config, answer_tokens=options.max_tokens, remembers=remembers, prices=prices)
    episodes = plan(config)
    if options.as_json:
        listed = [{"operator": e.operator, "sample": e.sample, "seed": e.seed} for e in episodes]
        print_json({"config": config.to_dict(), "plan": listed, "estimate": bounds.to_dict() if bounds else None})
        return
    out = console()
    out.print(f"{found.name}: {found.about}", highlight=False)
    out.print(f"{len(config.operators)} operators × {config.samples} samples = {len(episodes)} episodes")
    out.print(f"suite {config.suite} on {config.platform}, at most {config.budgets.max_submissions} submissions each")
    if bounds is not None:
        money = "" if bounds.usd is None else f", {bounds.usd:.2f} US dollars"
        out.print(
            f"at most {bounds.requests:,} answers, {bounds.prompt_tokens / 1e6:.2f} M prompt tokens and "
            f"{bounds.completion_tokens / 1e6:.2f} M written{money}"
        )
    out.print(f"at most {len(episodes) * config.budgets.wall_s / 3600:.1f} hours, one episode after the other")
    out.print("\n".join(config.operators), style="dim")


def _print(summary: Summary) -> None:
    out = console()
    done, total = len(summary.outcomes), summary.total
    text = f"{done} of {total} episodes, {summary.clean} clean"
    if summary.unscored:
        text += f", {summary.unscored} unscored (no failure of the method; the same command takes them up again)"
    out.print(f"{text}: {summary.folder}")
    if summary.stopped:
        out.print(f"stopped: {summary.stopped}", style="yellow")
    if summary.usd is not None:
        out.print(f"{summary.tokens:,} tokens, {summary.usd:.2f} US dollars")
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
