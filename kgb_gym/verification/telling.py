"""What the tools `run` and `profile` tell of a submission: bounded lines of text, made from the record and the outputs.

Nothing is scored by them. Values shown are those of the judge's own inputs for this very source, which no other
submission is ever played on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from kgb_gym.operators import Target
from kgb_gym.operators.grids import plain_value
from kgb_gym.verification.record import Copy, Draw, Fill, Function, Launch, Step, TritonType, View

MAX_LINES = 60
"""Lines of one report; those beyond are counted."""
SHOWN = 8
"""Elements of an output that are shown."""
LONGEST = 400
"""Characters of a line."""


def bounded(lines: list[str]) -> tuple[str, ...]:
    """At most `MAX_LINES` lines of at most `LONGEST` characters."""
    kept = [line if len(line) <= LONGEST else line[: LONGEST - 1] + "…" for line in lines[:MAX_LINES]]
    return (*kept, *([f"… and {len(lines) - MAX_LINES} lines more"] if len(lines) > MAX_LINES else []))


def steps(case: str, chosen: tuple[Step, ...]) -> list[str]:
    """What one call does: its launches, equal ones once, and the data movement around them."""
    launches = Counter(_launch(s) for s in chosen if isinstance(s, Launch))
    moves = Counter(
        {Fill: "fill", Copy: "copy", Draw: "draw"}[type(s)] for s in chosen if type(s) in (Fill, Copy, Draw)
    )
    around = ", ".join(f"{n} {name}" for name, n in moves.items())
    head = f"{case}: {sum(launches.values())} launches{f' and {around}' if around else ''}"
    return [head, *(f"  {text}{f' × {n}' if n > 1 else ''}" for text, n in launches.items())]


def output(target: Target, got: torch.Tensor) -> str:
    """One output: its geometry, and its first elements beside the expected ones."""
    shape = "x".join(map(str, got.shape)) or "scalar"
    flat, wanted = got.reshape(-1)[:SHOWN].tolist(), target.reference.reshape(-1)[:SHOWN].tolist()
    more = ", …" if got.numel() > SHOWN else ""
    return f"  {target.name}: {plain_value(got.dtype)} {shape}, [{_values(flat)}{more}], expected [{_values(wanted)}{more}]"


def _launch(launch: Launch) -> str:
    constants = ", ".join(f"{k}={v}" for k, v in sorted(_constants(launch)))
    grid = "x".join(map(str, launch.grid))
    return f"{launch.function} on {grid} programs, {_shapes(launch)}{f'; {constants}' if constants else ''}"


def _constants(launch: Launch) -> Iterator[tuple[str, Any]]:
    for name, value in launch.arguments.items():
        if name.isupper() and isinstance(value, (bool, int, float, str)):
            yield name, value
        elif isinstance(value, (Function, TritonType)):
            yield name, value.name
    options: Mapping[str, Any] = launch.options
    yield from ((k, v) for k, v in options.items() if v is not None)


def _shapes(launch: Launch) -> str:
    return ", ".join(
        f"{name} {plain_value(view.dtype)} {'x'.join(map(str, view.size)) or 'scalar'}"
        for name, view in launch.arguments.items()
        if isinstance(view, View)
    )


def _values(values: list[Any]) -> str:
    return ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)
