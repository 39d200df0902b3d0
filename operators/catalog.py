"""Which operators exist: file names are the list, and getting one imports one module."""

from __future__ import annotations

import fnmatch
import importlib
from functools import cache
from pathlib import Path

from kgb_gym.operators.declaration import Operator

SOURCES = ("aten", "vllm", "cublas")
_ROOT = Path(__file__).resolve().parent
_NOT_OPERATORS = {"__init__", "library"}
_PAPER = {"aten": "aten::", "vllm": "vllm::", "cublas": "cublas::"}


class UnknownOperator(KeyError):
    """No operator of that name; the message lists near ones."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


@cache
def names(source: str | None = None) -> tuple[str, ...]:
    """Ids (`source/name`) of all operators, sorted by source in the paper's order, then by name."""
    found = []
    for each in SOURCES if source is None else (source,):
        if each not in SOURCES:
            raise ValueError(f"unknown source {each!r}: use one of {', '.join(SOURCES)}")
        files = (p.stem for p in (_ROOT / each).glob("*.py") if p.stem not in _NOT_OPERATORS)
        found += [f"{each}/{stem}" for stem in sorted(files)]
    return tuple(found)


@cache
def get(name: str) -> Operator:
    """The operator of that id; the paper's spellings (`aten::softmax`, `cublas::cublasSgemm_v2`) and environment ids
    (`kgb/aten-softmax-v0`) are accepted.

    Raises:
        UnknownOperator: there is none.
    """
    normal = normalise(name)
    if normal not in names():
        near = [n for n in names() if normal.rpartition("/")[2].lower() in n.lower()]
        hint = f" Did you mean {', '.join(near[:4])}?" if near and normal.rpartition("/")[2] else ""
        raise UnknownOperator(f"there is no operator {name!r}.{hint} `kgb list` shows all.")
    source, _, stem = normal.partition("/")
    operator = importlib.import_module(f"kgb_gym.operators.{source}.{stem}").OPERATOR
    assert isinstance(operator, Operator)
    if operator.id != normal:
        raise ValueError(f"operators/{source}/{stem}.py declares {operator.id}")
    return operator


def normalise(name: str) -> str:
    """Any accepted spelling as `source/name`; globs pass through."""
    text = name.strip()
    if text.startswith("kgb/") and text.endswith("-v0"):
        source, _, stem = text[4:-3].partition("-")
        return f"{source}/{stem}"
    for source, prefix in _PAPER.items():
        if text.startswith(prefix):
            text = f"{source}/{text[len(prefix) :]}"
    source, _, stem = text.partition("/")
    if source == "cublas" and stem.startswith("cublas"):
        stem = stem.removeprefix("cublas")
    return f"{source}/{stem}" if stem else text


def match(patterns: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Ids that match any of the globs (a list, or one string with commas), in catalogue order.

    Raises:
        UnknownOperator: a pattern matches nothing.
    """
    parts = patterns.split(",") if isinstance(patterns, str) else list(patterns)
    chosen = set()
    for pattern in (p.strip() for p in parts if p.strip()):
        hits = fnmatch.filter(names(), normalise(pattern)) or ([get(pattern).id] if "*" not in pattern else [])
        if not hits:
            raise UnknownOperator(f"no operator matches {pattern!r}. `kgb list` shows all.")
        chosen.update(hits)
    return tuple(n for n in names() if n in chosen)


def gold_source(name: str) -> str:
    """The text of an operator's gold kernel. It is read, never imported.

    Raises:
        FileNotFoundError: the operator has none.
    """
    source, _, stem = normalise(name).partition("/")
    return (_ROOT / source / "gold" / f"{stem}.py").read_text(encoding="utf-8")
