"""What a prompt says of an operator, read from torch and from the declaration when it is rendered."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from kgb_gym.operators import Interface, Operator
from kgb_gym.operators.grids import DTYPES, named_dtypes
from kgb_gym.operators.oracle import aten_overload

MAX_DOCUMENTATION = 4000
"""Characters of a docstring that are shown."""

MAX_VALUES = 10
"""Values of one parameter that are shown."""


@dataclass(frozen=True)
class Axis:
    """One parameter of an interface's visible cases."""

    name: str
    values: tuple[str, ...]
    """The first values; the rest is counted in `more`."""
    more: int = 0


@dataclass(frozen=True)
class GridFacts:
    """The visible cases of one interface."""

    interface: str
    cases: int
    timed: int
    axes: tuple[Axis, ...]


def public_name(operator: Operator) -> str:
    """The operator as its users call it: `torch.ops.aten.softmax`, `vllm._custom_ops.rms_norm`, `cublasSgemm_v2`."""
    if operator.source == "aten":
        return f"torch.ops.aten.{operator.name}"
    if operator.source == "vllm":
        return f"vllm._custom_ops.{operator.name}"
    return operator.interfaces[0].name


def schemas(operator: Operator) -> tuple[str, ...]:
    """The FunctionSchema of every overload that is asked for, as this torch prints it."""
    return tuple(str(aten_overload(i.name)._schema) for i in operator.interfaces)


def documentation(operator: Operator) -> str:
    """The official docstring, from the first public place that has one; empty if none does."""
    for thing in _places(operator.name):
        text = inspect.cleandoc(thing.__doc__ or "") if thing is not None else ""
        if len(text) > 40:
            return text if len(text) <= MAX_DOCUMENTATION else text[:MAX_DOCUMENTATION].rsplit("\n", 1)[0] + "\n[...]"
    return ""


def grids(operator: Operator, suite: str) -> tuple[GridFacts, ...]:
    """The visible cases of each interface, by parameter."""
    return tuple(_grid(interface, suite) for interface in operator.interfaces)


def dtypes(operator: Operator, suite: str) -> tuple[str, ...]:
    """Names of the types of values that occur in an ATen operator's cases of a suite, without those of indices and masks."""
    if operator.source != "aten":
        return ()
    found = frozenset[str]().union(*(named_dtypes(case.params) for case in operator.cases(suite)))
    return tuple(name for name in DTYPES if name in found)


def _grid(interface: Interface, suite: str) -> GridFacts:
    cases = list(interface.cases(suite))
    names = sorted({name for case in cases for name in case.params})
    axes = []
    for name in names:
        values = list(dict.fromkeys(_show(case.params[name]) for case in cases if name in case.params))
        axes.append(Axis(name, tuple(values[:MAX_VALUES]), max(0, len(values) - MAX_VALUES)))
    return GridFacts(interface.function, len(cases), sum(c.timed for c in cases), tuple(axes))


def _show(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_show(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return textwrap.shorten(value if isinstance(value, str) else repr(value), 60)


def _places(name: str) -> Iterator[Any]:
    plain = name.rstrip("_") if not name.startswith("__") else name
    for each in dict.fromkeys((name, plain)):
        yield getattr(torch, each, None)
        yield getattr(torch.Tensor, each, None)
        yield getattr(torch.nn.functional, each, None)
        for prefix, home in (("linalg_", torch.linalg), ("special_", torch.special), ("fft_", torch.fft)):
            if each.startswith(prefix):
                yield getattr(home, each.removeprefix(prefix), None)
