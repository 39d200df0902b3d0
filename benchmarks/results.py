"""Cumulative results in `docs/data/*.json`: one row an operator, each with its date, hardware and the gold's hash.

A row replaces the operator's earlier one; other operators keep theirs. So a table can be made in slices, on different
days and machines, and every row says where it comes from.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from kgb_gym.operators import gold_source

DATA = Path(__file__).resolve().parent.parent / "docs" / "data"


def read(path: Path) -> dict[str, dict[str, Any]]:
    """All rows by operator; none where there is no file yet."""
    rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return rows


def write(path: Path, operator: str, row: Mapping[str, Any]) -> None:
    """Put one operator's row into a file, beside those that are there; the file is replaced at once."""
    rows = read(path)
    rows[operator] = {"date": f"{datetime.date.today()}", "machine": machine(), "gold": gold_hash(operator), **row}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(dict(sorted(rows.items())), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(new, path)


def gold_hash(operator: str) -> str:
    """First digits of the SHA-256 of the gold kernel: a row whose hash differs is about another gold."""
    return hashlib.sha256(gold_source(operator).encode()).hexdigest()[:12]
