"""What an operator is timed against: the real implementation, or openly none.

ATen operators are timed against PyTorch's own kernels, vLLM operators against an installed vLLM, cuBLAS routines
against libcublas. Where that is absent there is nothing to call, and the label says so: never a silent substitute.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgb_gym.operators.cublas import library
from kgb_gym.operators.declaration import Interface, Operator
from kgb_gym.operators.oracle import aten_overload

ABSENT = "oracle (not comparable)"


@dataclass(frozen=True)
class Baseline:
    """One interface's baseline."""

    label: str
    """What it is and its version, or `ABSENT`."""
    call: Callable[..., Any] | None
    """Takes exactly the interface's arguments; None: there is nothing to time against."""


def resolve(operator: Operator, interface: Interface, platform_name: str) -> Baseline:
    """The baseline of an interface on a platform (`nvidia`, `cpu`)."""
    if operator.source == "aten":
        return Baseline("native", aten_overload(interface.name))
    found = None
    if platform_name == "nvidia":
        found = _vllm(interface.name) if operator.source == "vllm" else _cublas(interface.name)
    return found or Baseline(ABSENT, None)


def _vllm(name: str) -> Baseline | None:
    try:
        call = getattr(importlib.import_module("vllm._custom_ops"), name, None)
    except (ImportError, OSError):
        return None
    return Baseline(f"vllm {importlib.metadata.version('vllm')}", call) if call is not None else None


def _cublas(name: str) -> Baseline | None:
    found = library.load()
    call = found.routine(name) if found is not None else None
    return Baseline(found.label, call) if found is not None and call is not None else None
