"""The audit layer: every ATen operator of a call, seen below Python, turned into the policy's verbs or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kgb_gym.verification.record import (
    Copy,
    Draw,
    Fill,
    Resize,
    View,
)
from kgb_gym.verification.recording import Recording
from kgb_gym.verification.rules import is_lossy
from kgb_gym.verification.verbs import ITEM, MAY_COPY, READ_BACK, RESHAPING, VIEWS, verb_of

MAX_READS = 4
"""Values that a call of a data-dependent operator may read back: sizes and positions, not its input."""


class Audit(TorchDispatchMode):
    """Sees every ATen operator of the call, below autograd and in every grad mode, and turns it into verbs.

    Args:
        recording: where the verbs go.
        mounted: the overloads that the submission stands for.
        lifted: takes the mount away while the audit itself computes, which may be by the very operator that is mounted.
    """

    def __init__(
        self,
        recording: Recording,
        mounted: Mapping[Any, str],
        lifted: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recording = recording
        self.mounted = mounted
        self.lifted = lifted

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.mounted:
            return func(*args, **kwargs)
        recording, carry_out = self.recording, self.recording.memory.run
        name = func._schema.name
        verb = verb_of(func)
        short = name.partition("::")[2]
        if short in recording.policy.allow_ops and verb is None:
            verb = "view"
        if short in ITEM and recording.may_read(args[0]):
            return carry_out(func, args, kwargs)
        if verb is None and short in READ_BACK - recording.policy.deny_ops and recording.data_dependent:
            self._count_read()
            return carry_out(func, args, kwargs)
        if verb is None and not recording.audit:
            return carry_out(func, args, kwargs)
        if verb is None:
            rule = "read-back" if short in READ_BACK else "native-compute"
            why = "reads values back to the host" if rule == "read-back" else "computes outside your kernels"
            recording.stop("audit", rule, f"{name.replace('::', '.')} {why}")
        if verb == "copy" and "reshape" in recording.policy.allow and _reshapes(short, args, kwargs):
            verb = "reshape"
        if verb not in recording.policy.allow or short in recording.policy.deny_ops:
            recording.stop(
                "audit", f"not-allowed-{verb}", f"{name.replace('::', '.')} is not allowed for this operator"
            )
        held = [a.untyped_storage() for a in args[:1] if isinstance(a, torch.Tensor)]
        before = [s.nbytes() for s in held]
        out = carry_out(func, args, kwargs)
        if held:
            recording.follow(held[0], args[0])
        if (
            verb in {"copy", "place", "view"}
            and recording.data_dependent
            and _brings_home(out, recording.memory.device)
        ):
            self._count_read()
            return out
        with self.lifted():
            getattr(self, f"_{verb}")(short, args, kwargs, out, before)
        return out

    def _count_read(self) -> None:
        self.recording.reads += 1
        if self.recording.reads > MAX_READS:
            self.recording.stop("audit", "read-back", f"more than {MAX_READS} values are read back in a call")

    def _view(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        """Geometry only, unless a composite operator had to copy."""
        for leaf in out if isinstance(out, (list, tuple)) else (out,):
            if (
                isinstance(leaf, torch.Tensor)
                and not self.recording.knows(leaf)
                and (name in MAY_COPY or name in VIEWS)
            ):
                if leaf.shape != args[0].shape and not (name in RESHAPING and leaf.is_contiguous()):
                    self.recording.stop(
                        "audit", "native-compute", f"aten.{name} rearranges values outside your kernels"
                    )
                verbs = {"copy", "reshape"} if name in RESHAPING else {"copy"}
                if not verbs & self.recording.policy.allow:
                    self.recording.stop("audit", "not-allowed-copy", f"aten.{name} copies here, which is not allowed")
                same = leaf.shape == args[0].shape
                self._copy(name, args, kwargs, leaf if same else leaf.view(args[0].shape), before)

    def _metadata(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        """Nothing to record."""

    def _alloc(self, name: str, args: Any, kwargs: Any, out: Any, before: list[int]) -> None:
        recording = self.recording
        if name.startswith("resize"):
            recording.view(args[0], "the resized tensor")
            after = args[0].untyped_storage().nbytes()
            if after > before[0]:
                storage = args[0].untyped_storage()
                recording.memory.poison(storage, args[0].dtype, start=before[0])
                recording.steps.append(Resize(recording.register(args[0]), after))
            return
        recording.register(out)
        recording.memory.poison(out.untyped_storage(), out.dtype)

    def _fill(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if name == "fill_" and isinstance(args[1], torch.Tensor):
            source = recording.view(args[1], "the fill value")
            target = recording.view(args[0], "the filled tensor")
            recording.steps.append(Copy(target, View(source.storage, source.dtype, target.size, (0,) * len(target.size),
                                                     source.offset)))  # fmt: skip
            return
        if not name.endswith("_"):
            recording.register(out)
        if out.numel():
            recording.steps.append(Fill(recording.view(out, "the filled tensor"), recording.memory.first(out)))

    def _place(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        self._move(args[0], args[1])

    def _reshape(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        self._copy(name, args, kwargs, out, before)

    def _copy(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if name in {"lift_fresh", "lift"}:
            if not recording.knows(args[0]):
                if args[0].numel() > 1:
                    recording.stop("audit", "host-table", "torch.tensor(...) brings values from the host to the device")
                recording.register(out)
                if out.numel():
                    recording.steps.append(Fill(recording.view(out, "the constant"), recording.memory.first(out)))
            return
        if out.untyped_storage()._cdata == args[0].untyped_storage()._cdata:
            return
        recording.view(args[0], "the source of a copy")
        recording.register(out)
        self._move(out, args[0])

    def _move(self, dst: torch.Tensor, src: torch.Tensor) -> None:
        """Note that one tensor's values were copied to another."""
        recording = self.recording
        recording.let_read(dst, recording.may_read(src))
        target, source = recording.view(dst, "the target of a copy"), recording.view(src, "the source of a copy")
        if is_lossy(source.dtype, target.dtype) and not recording.policy.lossy_copy:
            recording.stop("audit", "lossy-conversion",
                           f"a conversion from {source.dtype} to {target.dtype} computes: do it inside a kernel")  # fmt: skip
        if source.size != target.size:
            source = recording.view(src.expand(dst.shape), "the source of a copy")
        recording.steps.append(Copy(target, source))

    def _draw(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if any(isinstance(step, Draw) for step in recording.steps):
            recording.stop(
                "audit", "draw", "more than one random number is drawn in a call: draw one seed, toss in a kernel"
            )
        numbers = [a for a in args if isinstance(a, int)]
        low, high = (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0])
        if out.numel() != 1:
            recording.stop("audit", "draw", "only one one-element integer tensor may be drawn in a call")
        recording.register(out)
        recording.steps.append(
            Draw(recording.view(out, "the drawn tensor"), low, high, kwargs.get("generator") is not None)
        )


def _reshapes(name: str, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a copy is what a reshape that has to copy is made of, where the dispatcher takes it apart: a contiguous
    clone. The screen knows `reshape` and `clone` apart by their names."""
    return name == "clone" and kwargs.get("memory_format") is torch.contiguous_format


def _brings_home(out: Any, device: str) -> bool:
    """Whether a copy brings at most one element to the host, as reading a value from a GPU does.

    Above autograd such a copy is `_to_copy`; below it, where a mounted backend kernel may run, it is still `to`.
    """
    return isinstance(out, torch.Tensor) and out.device.type == "cpu" != device and out.numel() <= 1
