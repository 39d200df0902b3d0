"""`make bench`, or `python -m benchmarks [verify] [reset] [record] [demo] [busy] [episodes] [publish]`.

`benchmarks.trust` judges a corpus layer by layer, `benchmarks.mutation` measures the case grids, `benchmarks.sweep` the
gold kernels: each is a command of its own.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import harness, runs
from benchmarks.measure import machine

ALL = harness.ALL | runs.ALL


def main(chosen: list[str]) -> int:
    if unknown := sorted(set(chosen) - set(ALL)):
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(ALL)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table(title=machine(), title_justify="left", box=None, pad_edge=False)
    for column, justify in (
        ("measured", "left"),
        ("value", "right"),
        ("target", "right"),
        ("", "left"),
        ("detail", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name in chosen or ALL:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        for r in ALL[name]():
            mark = {True: "met", False: "missed", None: ""}[r.good]
            table.add_row(r.name, f"{r.value:.2f} {r.unit}", r.target, mark, r.detail)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
