"""`run.json`: which run a folder holds, under which configuration, on what machine.

The configuration is compared as canonical JSON, so that tuples and lists, and the order of keys, don't matter.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from kgb_gym.datasets import schema
from kgb_gym.datasets.journal import sync_folder

NAME = "run.json"
_PACKAGES = ("kgb_gym", "torch", "triton", "gymnasium", "numpy", "pyarrow", "datasets", "vllm")


@dataclass(frozen=True)
class Change:
    """One setting that differs between a recorded configuration and another."""

    path: str
    """Dotted name of the setting."""
    recorded: str
    """Its recorded value as JSON; `(absent)` where it has none."""
    given: str


class ConfigMismatch(ValueError):
    """A run was to be resumed under another configuration; `changes` says where they differ."""

    def __init__(self, folder: str, changes: tuple[Change, ...]) -> None:
        self.folder, self.changes = folder, changes
        super().__init__(folder, changes)

    def __str__(self) -> str:
        lines = [f"  {c.path}: recorded {c.recorded}, given {c.given}" for c in self.changes]
        head = f"{self.folder} was recorded under another configuration; use another folder, or the recorded one:"
        return "\n".join([head, *lines])


def canonical(config: Mapping[str, Any]) -> str:
    """The configuration as canonical JSON: sorted keys, no spaces.

    Raises:
        TypeError: it holds something that JSON does not know.
        ValueError: it holds a NaN or an infinity.
    """
    return json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(config).encode()).hexdigest()


def create(folder: Path, config: Mapping[str, Any], *, run_id: str | None, hardware: Mapping[str, Any] | None) -> None:
    """Write a new `run.json`."""
    update(
        folder,
        {
            "schema_version": schema.SCHEMA_VERSION,
            "run_id": run_id or uuid.uuid4().hex,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "config": json.loads(canonical(config)),
            "config_hash": config_hash(config),
            "versions": versions(),
            "hardware": dict(hardware) if hardware is not None else machine(),
            "calibration": None,
        },
    )


def read(folder: Path) -> dict[str, Any]:
    """The content of a folder's `run.json`.

    Raises:
        FileNotFoundError: the folder holds no run.
    """
    try:
        content: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder} holds no run: there is no {NAME} in it") from None
    return content


def update(folder: Path, content: Mapping[str, Any]) -> None:
    """Put new content in place of the old, whole or not at all."""
    temporary = folder / f".{NAME}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, sort_keys=True, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / NAME)
    sync_folder(folder)


def check(folder: Path, config: Mapping[str, Any]) -> None:
    """Raises:
    ConfigMismatch: the folder's run has another configuration.
    """
    recorded = read(folder)
    if recorded["config_hash"] != config_hash(config):
        raise ConfigMismatch(str(folder), differences(recorded["config"], json.loads(canonical(config))))


def differences(recorded: Any, given: Any, path: str = "") -> tuple[Change, ...]:
    """Where two JSON values differ, as deep down as can be told."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        found: tuple[Change, ...] = ()
        for name in sorted(set(recorded) | set(given)):
            inner = f"{path}.{name}" if path else name
            if name not in recorded or name not in given:
                found += (Change(inner, _shown(recorded, name), _shown(given, name)),)
            else:
                found += differences(recorded[name], given[name], inner)
        return found
    return () if recorded == given else (Change(path, json.dumps(recorded), json.dumps(given)),)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter, where installed."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """The machine as the operating system tells, without touching an accelerator."""
    gpus = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        gpus += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if sys.platform == "linux" else None
    return {
        "cpu": _cpu(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "gpus": gpus,
    }


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _shown(values: dict[str, Any], name: str) -> str:
    return json.dumps(values[name]) if name in values else "(absent)"
