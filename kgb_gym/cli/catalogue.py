"""The operators as `kgb list` shows them.

Counting cases means importing every declaration, and with them torch; so the answer is kept in the user's cache folder,
under a digest of the declarations' text. A cache that can't be written costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

SOURCES = ("aten", "vllm", "cublas")

Entry = dict[str, Any]


def entries(source: str | None = None) -> list[Entry]:
    """One object an operator: `name`, `source`, `env_id`, `interfaces`, and `k` by suite, in catalogue order."""
    found = _cached()
    return [e for e in found if source is None or e["source"] == source]


def names() -> list[str]:
    """Ids of all operators, without importing their declarations."""
    return [e["name"] for e in entries()]


def build() -> list[Entry]:
    """The entries, from the declarations."""
    from kgb_gym import operators

    found = []
    for name in operators.names():
        operator = operators.get(name)
        counts = {suite: operator.counts(suite) for suite in operators.SUITES}
        found.append(
            {
                "name": operator.id,
                "source": operator.source,
                "env_id": operator.env_id,
                "interfaces": [i.name for i in operator.interfaces],
                "k": {suite: c["k"] for suite, c in counts.items()},
                "k_extra": {suite: c["k_extra"] for suite, c in counts.items()},
                "k_beyond": {suite: c["k_beyond"] for suite, c in counts.items()},
                "k_timed": {suite: c["k_timed"] for suite, c in counts.items()},
            }
        )
    return found


def _cached() -> list[Entry]:
    path = _folder() / f"operators-{_digest()}.json"
    with contextlib.suppress(OSError, ValueError):
        kept: list[Entry] = json.loads(path.read_text(encoding="utf-8"))
        return kept
    found = build()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(file.name, path)
    return found


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kgb-gym"


def _digest() -> str:
    root = Path(__file__).resolve().parent.parent / "operators"
    whole = hashlib.sha256()
    for path in sorted(root.resolve().rglob("*.py")):
        if "gold" not in path.parts:
            whole.update(f"{path.relative_to(root.resolve())}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]
