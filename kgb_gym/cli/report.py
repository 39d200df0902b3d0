"""`kgb report`, `kgb recover` and `kgb publish`: what the records say."""

from __future__ import annotations

from pathlib import Path

from kgb_gym.cli.errors import WrongUse
from kgb_gym.cli.output import print_json


def recover(folder: Path, as_json: bool) -> int:
    """Finalise the journals that killed processes left in a run folder."""
    from dataclasses import asdict

    from kgb_gym.datasets import store

    _need_run(folder)
    try:
        done = store.recover(folder)
    except OSError as error:
        raise WrongUse(f"{folder} can't be written: {error.strerror or error}") from None
    if as_json:
        print_json(asdict(done))
    else:
        live = f"; {done.live} journals belong to a running process" if done.live else ""
        print(
            f"{folder}: {done.steps} steps and {done.episodes} episodes recovered from {done.journals} journals{live}"
        )
    return 0


def _need_run(folder: Path) -> None:
    if not (folder / "run.json").is_file():
        raise WrongUse(f"{folder} holds no run: give a folder that `kgb run --out` or `record=` wrote")
