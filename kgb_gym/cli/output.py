"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A rich console; where output is no terminal, lines are wide enough for every table."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 200
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def print_json(value: Any, file: TextIO | None = None) -> None:
    """One JSON value, indented; NaN and infinities must have been made text or null before."""
    out = file or sys.stdout
    out.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    out.flush()


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Keeps standard output for what is written to the yielded file: whatever else is printed meanwhile, by libraries
    or child processes too, goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as file:
            yield file
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
