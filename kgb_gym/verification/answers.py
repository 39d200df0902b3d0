"""What a player or caller sends back, checked as data before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgb_gym.verification.record import View
from kgb_gym.verification.tensors import from_dense


class Forged(Exception):
    """The answer is not what the harness's own code would have sent."""


@dataclass(frozen=True)
class Outputs:
    """What one play, ghost run or live call left behind."""

    returns: tuple[Any, ...]
    """Dense tensors, or plain values."""
    storages: Mapping[int, bytearray]
    """Input storages after the call, those that may be written."""


def error_of(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The exception that an answer describes; None if it describes none.

    Raises:
        Forged: it says `error` and describes nothing.
    """
    error = answer.get("error")
    if error is None:
        return None
    if not isinstance(error, dict) or not isinstance(error.get("line"), (int, type(None))):
        raise Forged("an error that is no description of one")
    return {k: printable(v) if isinstance(v, str) else v for k, v in error.items()}


def printable(text: str) -> str:
    """The text with lone surrogates, which no terminal or file takes, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def strays_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What guard regions showed, over all plays (see `platforms.fence`).

    Raises:
        Forged: it is no such list.
    """
    out: list[dict[str, Any]] = []
    for play in answer["plays"]:
        told = play.get("stray", [])
        if not isinstance(told, list):
            raise Forged("guard regions that are no list")
        for stray in told:
            numbers = [stray.get(k) for k in ("nbytes", "bytes", "distance")] if isinstance(stray, dict) else [None]
            if not all(type(n) is int for n in numbers) or stray.get("side") not in {"before", "after"}:
                raise Forged("a guard region that is none")
            out.append(stray)
    return out


def read_outputs(
    answer: Mapping[str, Any], blobs: Sequence[bytearray], *, returns: Sequence[Any], written: Mapping[int, int],
    inputs: int, plays: int,
) -> list[Outputs]:  # fmt: skip
    """The answer's bytes as tensors, play by play.

    Args:
        answer: `plays`, each with `digests`: one text an input, None where it may be written.
        blobs: of each play the returned tensors in order, then the written storages in order.
        returns: the record's returned leaves.
        written: the least size in bytes of each input storage that may be written.
        inputs: how many input storages the call has.
        plays: how many plays were asked for.

    Raises:
        Forged: anything is missing, too much, or of the wrong size.
    """
    told = answer.get("plays")
    if not isinstance(told, list) or len(told) < 1 or not all(isinstance(p, dict) for p in told):
        raise Forged("no plays")
    for play in told:
        digests = play.get("digests")
        if not isinstance(digests, list) or len(digests) != inputs or type(play.get("programs", 0)) is not int:
            raise Forged("a play without a digest for every input")
    views = [v for v in returns if isinstance(v, View)]
    strays_of(answer)
    if len(told) != plays or len(blobs) != plays * (len(views) + len(written)):
        raise Forged("another number of outputs than was asked for")
    queue = iter(blobs)
    out = []
    for _ in range(plays):
        leaves: list[Any] = []
        for value in returns:
            if isinstance(value, View):
                data = next(queue)
                if len(data) != value.nbytes:
                    raise Forged("an output of the wrong size")
                leaves.append(from_dense(data, value.dtype, value.size))
            else:
                leaves.append(value)
        storages = {number: next(queue) for number in sorted(written)}
        if any(len(data) < written[number] for number, data in storages.items()):
            raise Forged("a written argument of the wrong size")
        out.append(Outputs(tuple(leaves), storages))
    return out
