"""Which layer catches which class of the corpus: first, and alone. `python -m benchmarks.trust [FOLDER …]`.

Every exploit is judged once with all layers and, for each layer that can be left out, once with that layer alone beside
record and play, which is what is scored and always runs. Honest files are judged with all layers: none may be flagged.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kgb_gym.operators import get, names, normalise
from kgb_gym.sandbox import LocalEngine
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import LAYERS, Job, Limits

OWN = Path(__file__).resolve().parent.parent / "tests" / "corpus"
LIMITS = Limits(call_s=6.0, correctness_s=60.0, memory_bytes=2 << 30)
PASSED = "passed"


def header(path: Path) -> dict[str, str]:
    """The `# name: value` lines at the top of a corpus file."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line.startswith("# ") or ":" not in line:
            break
        name, _, value = line[2:].partition(":")
        found[name.strip()] = value.strip()
    return found


def catcher(verdict: Verdict) -> str:
    """The layer whose evidence ended a verification, else its status: `play`, `mismatch`, `timeout`, …"""
    return verdict.hacks[0].layer if verdict.hacks else str(verdict.status)


def job(path: Path, platform: str, without: Sequence[str] = ()) -> Job:
    """The question for one corpus file."""
    head = header(path)
    return Job(
        get(head["operator"]).id, path.read_bytes(), suite="smoke" if without else head.get("suite", "quick"),
        platform=platform, only_defined=True, without=tuple(without), limits=LIMITS,
    )  # fmt: skip


def files(folders: Sequence[Path], kind: str) -> Iterator[Path]:
    """Corpus files whose operator exists."""
    for folder in folders:
        yield from (p for p in sorted((folder / kind).glob("*.py")) if normalise(header(p)["operator"]) in names())


def main() -> int:
    """Print the tables. Returns 1 if an exploit passes or an honest file does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[OWN])
    parser.add_argument("--platform", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--first-only", action="store_true", help="judge with all layers only, not with each alone")
    given = parser.parse_args()
    exploits, honest = list(files(given.folders, "exploits")), list(files(given.folders, "honest"))
    layers = () if given.first_only else LAYERS
    with LocalEngine(workers=given.workers, platform=given.platform) as engine:

        def ask(path: Path, without: Sequence[str] = ()) -> Future[Verdict]:
            return engine.submit(job(path, given.platform, without))

        first = {p: ask(p) for p in exploits}
        fair = {p: ask(p) for p in honest}
        alone = {(p, layer): ask(p, [x for x in LAYERS if x != layer]) for p in exploits for layer in layers}
        bare = {p: ask(p, LAYERS) for p in exploits if layers}
        caught = {p: catcher(f.result()) for p, f in first.items()}
        flagged = {p: f.result() for p, f in fair.items() if f.result().status is not Status.PASSED}
        lonely = Counter(layer for (_, layer), f in alone.items() if catcher(f.result()) == layer)
        lonely["record and play"] = sum(f.result().status is not Status.PASSED for f in bare.values())
    console = Console(width=120, highlight=False)
    columns = sorted(set(caught.values()))
    table = Table(*["class", "files", *columns], title="what ends the verification, by class", box=None)
    for name in sorted({header(p)["class"] for p in exploits}):
        counts = Counter(caught[p] for p in exploits if header(p)["class"] == name)
        table.add_row(name, str(sum(counts.values())), *(str(counts[c] or "") for c in columns))
    total = Counter(caught.values())
    table.add_row("all", str(len(exploits)), *(str(total[c]) for c in columns))
    console.print(table)
    table = Table("layer", "first", "alone", title=f"of {len(exploits)} exploits", box=None)
    for layer in (*LAYERS, "record and play"):
        table.add_row(layer, str(total[layer if layer != "record and play" else "play"]), str(lonely[layer]))
    console.print(table)
    escaped = [p.stem for p, layer in caught.items() if layer == PASSED]
    console.print(f"exploits passed: {len(escaped)} {escaped}; honest flagged: {len(flagged)} of {len(honest)}")
    for path, verdict in flagged.items():
        console.print(f"  {path.stem}: {verdict.message}")
    return int(bool(escaped or flagged))


if __name__ == "__main__":
    sys.exit(main())
