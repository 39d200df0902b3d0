"""The mount: a submission's functions as the public operators, for the time of one call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from kgb_gym.verification.audit import Audit
from kgb_gym.verification.recording import Recording, Stopped


class Mount:
    """The submission's functions as the public operators: through the dispatcher for ATen, by name for the others."""

    def __init__(self, source: str, key: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.source = source
        self.key = key
        self.functions = functions
        self.overloads: dict[str, Any] = {}
        self._inner: dict[str, Callable[..., Any]] = {}
        self._library: torch.library.Library | None = None
        if source == "aten":
            from kgb_gym.operators.oracle import aten_overload

            self.overloads = {name: aten_overload(name) for name in functions}

    def call(self, name: str, args: Any, kwargs: Any, recording: Recording) -> list[Any]:
        """Call the public operator with the mount and the audit active; returns what the submission returned."""
        audit = Audit(recording, {op: n for n, op in self.overloads.items()}, self.lifted)
        if self.source != "aten":
            with audit:
                return [self.functions[name](*args, **kwargs)]
        active: list[str] = []
        returned: list[Any] = []

        def mounted(which: str) -> Callable[..., Any]:
            function = self.functions[which]

            def inner(*a: Any, **k: Any) -> Any:
                if which in active:
                    recording.recursion = which
                    raise Stopped(f"the submission's {which} calls the operator that it replaces")
                active.append(which)
                try:
                    with audit:
                        result = function(*a, **k)
                finally:
                    active.pop()
                if not active:
                    returned.append(result)
                return result

            return inner

        self._inner = {which: mounted(which) for which in self.overloads}
        try:
            self._register()
            self.overloads[name](*args, **kwargs)
        finally:
            self._unregister()
        return returned

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Without the mount, while a kernel launches or the harness computes."""
        active = self._library is not None
        self._unregister()
        try:
            yield
        finally:
            if active:
                self._register()

    def _register(self) -> None:
        self._library = torch.library.Library("aten", "IMPL")
        for which, inner in self._inner.items():
            self._library.impl(which, inner, self.key, **_override())

    def _unregister(self) -> None:
        if self._library is not None:
            self._library._destroy()
            self._library = None


def _override() -> dict[str, bool]:
    return (
        {"allow_override": True} if "allow_override" in inspect.signature(torch.library.Library.impl).parameters else {}
    )
