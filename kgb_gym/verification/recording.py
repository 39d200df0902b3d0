"""One call of a submission while it is taken down: which memory it may know, and what it does with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kgb_gym.operators.policy import Policy
from kgb_gym.verification.memory import DeviceMemory
from kgb_gym.verification.record import (
    Step,
    Storage,
    View,
)


class Stopped(BaseException):
    """Ends a call that broke a rule. Not an `Exception`: a submission's `except` must not swallow it by accident."""


class Recording:
    """What one call does, step by step."""

    def __init__(
        self, policy: Policy, memory: DeviceMemory, filename: str, data_dependent: bool = False, audit: bool = True
    ) -> None:
        self.audit = audit
        """False lets native compute pass unrecorded, to measure what the other layers make of it."""
        self.policy = policy
        self.data_dependent = data_dependent
        self.memory = memory
        self.filename = filename
        self.storages: list[Storage] = []
        self.steps: list[Step] = []
        self.violations: list[dict[str, Any]] = []
        self.recursion = ""
        self.has_generator = False
        self.launches = 0
        self.reads = 0
        self._readable: set[int] = set()
        self._index: dict[int, int] = {}
        self._alive: list[Any] = []

    def register(self, tensor: torch.Tensor, source: int | None = None) -> int:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._index:
            self._index[storage._cdata] = len(self.storages)
            self.storages.append(Storage(storage.nbytes(), source, tensor.dtype))
            self._alive.append(storage)
        return self._index[storage._cdata]

    def follow(self, storage: torch.UntypedStorage, tensor: torch.Tensor) -> None:
        """A tensor over `storage` may have been given a larger one in its place: the same memory, as far as is recorded."""
        now = tensor.untyped_storage()
        if now._cdata != storage._cdata and storage._cdata in self._index:
            self._index[now._cdata] = self._index[storage._cdata]
            self._alive.append(now)

    def let_read(self, tensor: torch.Tensor, may: bool = True) -> None:
        """Whether the one value of this tensor may be read on the host: a number that stands in a tensor, or its copy."""
        change = self._readable.add if may else self._readable.discard
        change(tensor.untyped_storage()._cdata)

    def may_read(self, tensor: Any) -> bool:
        return isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata in self._readable

    def knows(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._index

    def view(self, tensor: torch.Tensor, what: str) -> View:
        """The geometry of a tensor over a known storage; a foreign one ends the call."""
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            self.stop("contract", "tensor-type", f"{what} is a {type(tensor).__name__}, not a torch.Tensor")
        if tensor.device.type != self.memory.device:
            self.stop("audit", "host-transfer", f"{what} is on {tensor.device.type}, not on {self.memory.device}")
        index = self._index.get(tensor.untyped_storage()._cdata)
        if index is None:
            self.stop(
                "ghost", "foreign-buffer",
                f"{what} is neither an input nor memory allocated in this call: its content does not come from your "
                "kernels (or it was kept from an earlier call)",
            )  # fmt: skip
        assert index is not None
        return View.of(tensor, index)

    def stop(self, layer: str, rule: str, message: str) -> None:
        self.violations.append({"layer": layer, "rule": rule, "message": message, "line": self.line()})
        raise Stopped(message)

    def line(self) -> int | None:
        """The innermost line of the submission on the stack."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.filename:
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None

    @contextmanager
    def branch(self) -> Iterator[list[Step]]:
        """Collects steps apart, for one choice of an autotuner."""
        outer, self.steps = self.steps, []
        try:
            yield self.steps
        finally:
            self.steps = outer
