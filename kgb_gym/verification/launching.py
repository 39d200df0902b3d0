"""Held-back launches: what stands in front of Triton's launchers while a call is recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import torch

from kgb_gym.platforms.guard import Guard, memory
from kgb_gym.verification.mount import Mount
from kgb_gym.verification.record import (
    Function,
    Launch,
    TritonType,
    Tune,
)
from kgb_gym.verification.recording import Recording


class Held:
    """Stands in front of Triton's launchers: records instead of launching, or (live) records and launches.

    Args:
        filename: the submission's file.
        live: for operators whose launches depend on values.
    """

    def __init__(self, filename: str, live: bool = False) -> None:
        self.filename = filename
        self.live = live
        self.recording: Recording | None = None
        self.mount: Mount | None = None
        self._original: dict[type, Callable[..., Any]] = {}
        self.guard: Guard | None = None
        """Watches the interpreter's memory and draws the order of programs; None where nothing is launched there."""

    def install(self) -> None:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction

        held = self
        self._original = {JITFunction: JITFunction.run, InterpretedFunction: InterpretedFunction.run}

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            held.launch(kernel, args, grid, warmup, kwargs)

        def tune(tuner: Any, *args: Any, **kwargs: Any) -> None:
            held.tune(tuner, args, kwargs)

        JITFunction.run = run
        InterpretedFunction.run = run
        Autotuner.run = tune

    def _launch_now(self, kernel: Any, args: Any, grid: Any, kwargs: Any, bound: Mapping[str, Any]) -> None:
        """The real launch, `bound` its arguments by name: with the mount lifted and no mode active, as the interpreter computes with ATen itself."""
        original = next(run for kind, run in self._original.items() if isinstance(kernel, kind))
        if self.guard is not None:
            self.guard.allow(memory(_given(bound)))
        lifted = self.mount.lifted() if self.mount is not None else nullcontext()
        with lifted, torch._C._DisableTorchDispatch():
            original(kernel, *args, grid=grid, warmup=False, **kwargs)

    def launch(self, kernel: Any, args: tuple[Any, ...], grid: Any, warmup: bool, kwargs: dict[str, Any]) -> None:
        recording = self.recording
        if warmup:
            return
        if recording is None:
            raise RuntimeError(f"the kernel {kernel.fn.__name__} is launched outside a call of an interface")
        signature = inspect.signature(kernel.fn)
        options = {k: v for k, v in kwargs.items() if k not in signature.parameters}
        for name in [n for n in options if n in ("debug", "stream", "device", "device_type")]:
            del options[name]
        if unknown := [k for k in options if k not in KNOWN_OPTIONS]:
            raise TypeError(f"{kernel.fn.__name__} has no parameter or launch option {unknown[0]!r}")
        bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
        bound.apply_defaults()
        size = grid(dict(bound.arguments)) if callable(grid) else grid
        if not isinstance(size, (tuple, list)) or not 1 <= len(size) <= 3:
            raise TypeError(f"the grid of {kernel.fn.__name__} must be a tuple of one to three integers, not {size!r}")
        numbers = tuple(int(n) for n in size)
        if any(n < 0 for n in numbers):
            raise ValueError(f"the grid of {kernel.fn.__name__} has a negative size: {numbers}")
        arguments = {k: self.value(recording, kernel, k, v) for k, v in bound.arguments.items()}
        clean = {k: v for k, v in options.items() if v is not None}
        recording.launches += 1
        recording.steps.append(
            Launch(kernel.fn.__name__, (*numbers, 1, 1)[:3], arguments, clean, recording.line())  # type: ignore[arg-type]
        )
        if self.live and numbers and all(numbers):
            self._launch_now(kernel, args, numbers, kwargs, bound.arguments)

    def tune(self, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recording = self.recording
        if recording is None:
            raise RuntimeError("an autotuned kernel is launched outside a call of an interface")
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        given = {**tuner.nargs, **kwargs}
        configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else list(tuner.configs)
        configs = configs[:1] if self.live else configs
        for config in configs:
            if clash := set(config.kwargs) & (set(kwargs) | set(tuner.nargs)):
                raise ValueError(
                    f"the launch sets {', '.join(sorted(clash))}, which @triton.autotune sets as well: leave it out of "
                    "the call"
                )
        key = [str(given[k]) for k in tuner.keys if k in given and not isinstance(given[k], torch.Tensor)]
        key += [str(v.dtype) for k, v in given.items() if isinstance(v, torch.Tensor) and k in tuner.arg_names]
        choices, kernel = [], tuner
        while hasattr(kernel, "fn") and not inspect.isfunction(kernel.fn):
            kernel = kernel.fn
        for config in configs:
            with recording.branch() as steps:
                if config.pre_hook is not None:
                    config.pre_hook({**given, **config.all_kwargs()})
                tuner.fn.run(*args, **kwargs, **{k: v for k, v in config.all_kwargs().items() if k != "ir_override"})
            choices.append(tuple(steps))
        recording.steps.append(Tune(kernel.fn.__name__, ",".join(key), tuple(choices)))  # type: ignore[arg-type]

    def value(self, recording: Recording, kernel: Any, name: str, value: Any) -> Any:
        import triton.language as tl
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction

        if isinstance(value, tl.constexpr):
            value = value.value
        if isinstance(value, torch.Tensor):
            return recording.view(value, f"the argument {name} of {kernel.fn.__name__}")
        if isinstance(value, tl.dtype):
            return TritonType(value.name)
        if isinstance(value, (JITFunction, InterpretedFunction)):
            return Function(value.fn.__name__)
        if isinstance(value, (tuple, list)):
            return tuple(self.value(recording, kernel, name, v) for v in value)
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise OverflowError(f"the argument {name} of {kernel.fn.__name__} does not fit 64 bits")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise TypeError(f"the argument {name} of {kernel.fn.__name__} is a {type(value).__name__}: pass tensors, numbers, "
                        "None, strings, Triton types or jitted functions")  # fmt: skip


def _given(arguments: Mapping[str, Any]) -> Iterator[tuple[str, torch.UntypedStorage]]:
    """A launch's arguments that are tensors, each with its memory."""
    for name, value in arguments.items():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, torch.Tensor):
                yield name, part.untyped_storage()


KNOWN_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})
