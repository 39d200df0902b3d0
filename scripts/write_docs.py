"""Writes the generated parts of docs/: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.

`python scripts/write_docs.py` writes them, `--check` only says whether they are up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from kgb_gym.cli import catalogue
from kgb_gym.datasets import schema

DOCS = Path(__file__).resolve().parent.parent / "docs"


def operators() -> str:
    """The table of operators with their interfaces and numbers of cases."""
    lines = [
        "| operator | interfaces | k `paper` | of these timed | extra | k `quick` | extra |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for entry in catalogue.build():
        interfaces = ", ".join(f"`{name}`" for name in entry["interfaces"])
        k, extra, timed = entry["k"], entry["k_extra"], entry["k_timed"]
        counts = [k["paper"], timed["paper"], extra["paper"], k["quick"], extra["quick"]]
        lines.append(f"| `{entry['name']}` | {interfaces} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "operators": operators,
    "steps": lambda: schema.markdown("steps"),
    "episodes": lambda: schema.markdown("episodes"),
}


def renewed(text: str) -> str:
    """The text with every generated part made anew."""
    for name, make in PARTS.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if pattern.search(text):
            made = make()
            text = pattern.sub(lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text)  # type: ignore[misc]
    return text


def main() -> int:
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        old = path.read_text(encoding="utf-8")
        if (new := renewed(old)) != old:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"{', '.join(f'docs/{p.name}' for p in stale)} out of date: run `make docs`", file=sys.stderr)
        return 1
    print(f"docs: {len(stale)} renewed" if stale else "docs: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
