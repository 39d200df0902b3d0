"""Finds what the command line names: operators, platforms, suites and files."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kgb_gym.cli.errors import WrongUse

if TYPE_CHECKING:
    from kgb_gym.operators import Operator
    from kgb_gym.platforms import Platform


def operator(name: str) -> Operator:
    """The operator of that name, in any accepted spelling.

    Raises:
        WrongUse: there is none; near names are listed.
    """
    from kgb_gym import operators

    try:
        return operators.get(name)
    except operators.UnknownOperator:
        raise WrongUse(f"there is no operator {name!r}.{_near(name)} `kgb list` shows all.") from None


def match(patterns: str) -> tuple[str, ...]:
    """Ids that match globs joined by commas.

    Raises:
        WrongUse: one of them matches nothing.
    """
    from kgb_gym import operators

    chosen: set[str] = set()
    for pattern in (p.strip() for p in patterns.split(",")):
        if not pattern:
            continue
        try:
            chosen.update(operators.match([pattern]))
        except operators.UnknownOperator:
            raise WrongUse(f"no operator matches {pattern!r}.{_near(pattern)} `kgb list` shows all.") from None
    if not chosen:
        raise WrongUse("--operators names no operator: give ids or globs, such as 'aten/*,vllm/rms_norm'")
    return tuple(name for name in operators.names() if name in chosen)


def platform(name: str) -> Platform:
    """The platform of that name, present on this machine.

    Raises:
        WrongUse: there is no such platform, or this machine doesn't offer it.
    """
    from kgb_gym import platforms

    try:
        found = platforms.get(name)
    except ValueError as error:
        raise WrongUse(str(error)) from None
    if not platforms.offered(found):
        raise WrongUse(
            f"this machine offers no {found.noun} to --platform {found.name}: `kgb doctor` tells what it has"
        )
    return found


def offered(operators: Iterable[str], platform: Platform) -> None:
    """Whether a platform offers these operators.

    Raises:
        WrongUse: it doesn't offer all of them; says why.
    """
    for source in dict.fromkeys(name.partition("/")[0] for name in operators):
        if why := platform.refuses(source):
            raise WrongUse(f"no {source} operator on {platform.name}: {why}")


def suite(name: str, platform: Platform) -> str:
    """The suite of that name; `auto` is the platform's own.

    Raises:
        WrongUse: there is none.
    """
    from kgb_gym.operators import SUITES

    if name == "auto":
        return platform.default_suite
    if name not in SUITES:
        raise WrongUse(f"unknown suite {name!r}: use auto, {', '.join(SUITES)}")
    return name


def targets(names: Iterable[str]) -> tuple[str, ...]:
    """Chips to compile for, from names that commas may join.

    Raises:
        WrongUse: one of them is unknown.
    """
    from kgb_gym.verification.targets import UnknownTarget, listed

    try:
        return listed(names)
    except UnknownTarget as error:
        raise WrongUse(str(error)) from None


def submission(file: str) -> bytes:
    """The bytes of a submission; `-` reads standard input.

    Raises:
        WrongUse: it can't be read.
    """
    if file == "-":
        return sys.stdin.buffer.read()
    path = Path(file)
    if path.is_dir():
        raise WrongUse(f"{file} is a folder: give the file of one Python module, or - for standard input")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise WrongUse(f"there is no file {file}: give the path of a Python module, or - for standard input") from None
    except OSError as error:
        raise WrongUse(f"{file} can't be read: {error.strerror}") from None


def _near(name: str) -> str:
    from kgb_gym import operators

    wanted = operators.normalise(name).lower()
    stem = wanted.rpartition("/")[2]
    full = {n.lower(): n for n in operators.names()}
    stems: dict[str, list[str]] = {}
    for each in operators.names():
        stems.setdefault(each.partition("/")[2].lower(), []).append(each)
    found = [full[n] for n in difflib.get_close_matches(wanted, full, n=4, cutoff=0.7)]
    for close in difflib.get_close_matches(stem, stems, n=4, cutoff=0.6):
        found += stems[close]
    found += [n for low, n in full.items() if len(stem) > 2 and stem in low.rpartition("/")[2]]
    chosen = list(dict.fromkeys(found))[:4]
    return f" Did you mean {' or '.join(chosen)}?" if chosen else ""
