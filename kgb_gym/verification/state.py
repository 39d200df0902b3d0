"""The state layer: what a submission changes in the process that it shares with torch, Triton and Python.

Namespaces, modes, numeric switches, environment, threads and handlers are compared before and after; dynamic code and
child processes are noticed as they happen. A recorder is used once and decides nothing, so none of this could sway a
verdict; it is evidence, with a line where there is one.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _pop_mode

QUIET = frozenset({"__warningregistry__", "_warn_once", "_lazy_call", "_lazy_init"})
DYNAMIC = {
    "exec": "runs code made at run time",
    "compile": "compiles code made at run time",
    "os.system": "starts a program",
    "os.exec": "starts a program",
    "os.fork": "forks",
    "os.posix_spawn": "starts a program",
    "subprocess.Popen": "starts a program",
    "ctypes.dlopen": "loads a library",
    "socket.__new__": "opens a socket",
    "code.__new__": "makes a code object",
    "sys._getframe": "walks the stack",
    "gc.get_objects": "walks the heap",
    "gc.get_referrers": "walks the heap",
}
"""Audit events of Python that no honest wrapper causes itself, and what they mean."""


@dataclass(frozen=True)
class State:
    """A snapshot. `names` holds callables by (namespace, name); `switches` everything compared by value."""

    names: Mapping[tuple[str, str], Any]
    switches: Mapping[str, Any]


def snapshot() -> State:
    """Everything that is compared."""
    names = {
        (where, name): value
        for where, space in _namespaces().items()
        for name, value in list(vars(space).items())
        if callable(value) and name not in QUIET
    }
    return State(names, switches())


def switches() -> dict[str, Any]:
    """The part that is cheap enough to compare after every call. Modes left active are counted, then taken off."""
    dispatch, function = torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()
    while torch._C._len_torch_function_stack():  # a mode that stays would see what follows here
        torch._C._pop_torch_function_stack()
    while torch._C._len_torch_dispatch_stack():
        _pop_mode()
    return {
        "dispatch modes": dispatch,
        "function modes": function,
        "default dtype": torch.get_default_dtype(),
        "default device": str(torch.get_default_device()),
        "matmul precision": torch.get_float32_matmul_precision(),
        "TF32": (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "gradients": torch.is_grad_enabled(),
        "environment": dict(os.environ),
        "threads": threading.active_count(),
        "signal handlers": tuple(str(signal.getsignal(s)) for s in (signal.SIGALRM, signal.SIGTERM, signal.SIGSEGV)),
        "trace functions": (sys.gettrace() is not None, sys.getprofile() is not None),
    }


def changes(before: State, after: State) -> list[tuple[str, str]]:
    """Rules and sentences for what differs: names that were replaced or removed, and switches."""
    replaced = sorted(
        f"{where}.{name}"
        for (where, name), value in before.names.items()
        if after.names.get((where, name)) is not value
    )
    out = [("namespace", f"replaces {', '.join(replaced[:5])}{' …' if len(replaced) > 5 else ''}")] if replaced else []
    return out + switched(before.switches, after.switches)


def switched(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rules and sentences for switches that differ."""
    out = []
    for name, value in before.items():
        now = after.get(name)
        if now == value:
            continue
        if name == "environment":
            keys = sorted(k for k in value.keys() | now.keys() if value.get(k) != now.get(k))  # type: ignore[union-attr]
            out.append(("environment", f"changes the environment variables {', '.join(keys[:5])}"))
        elif name.endswith("modes"):
            out.append(("mode", f"leaves {name} of torch active"))
        else:
            out.append(("switch", f"changes {name} from {value} to {now}"))
    return out


class Watch:
    """Notices dynamic code and child processes of one file. An audit hook cannot be taken off: it can only sleep.

    Args:
        filename: the submission's file; only what its own lines do counts.
        report: called with rule, sentence and line.
    """

    def __init__(self, filename: str, report: Callable[[str, str, int | None], None]) -> None:
        self._filename = filename
        self._report = report
        self.awake = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: Any) -> None:
        if not self.awake or event not in DYNAMIC:
            return
        self.awake = False
        try:
            frame = sys._getframe(1)
            if frame.f_code.co_filename == self._filename:
                self._report("dynamic", DYNAMIC[event], frame.f_lineno)
        finally:
            self.awake = True


def _namespaces() -> dict[str, Any]:
    import math
    import time

    import numpy
    import triton
    import triton.language as tl
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    return {
        "torch": torch, "torch.Tensor": torch.Tensor, "torch.nn.functional": torch.nn.functional,
        "torch.cuda": torch.cuda, "torch.Generator": torch.Generator, "torch.autograd": torch.autograd,
        "triton": triton, "triton.language": tl, "JITFunction": JITFunction, "Autotuner": Autotuner,
        "Heuristics": Heuristics, "builtins": builtins, "os": os, "sys": sys, "time": time, "math": math,
        "numpy": numpy,
    }  # fmt: skip


class Keeper:
    """Compares the process's state around an import and around calls.

    Args:
        filename: the submission's file.
    """

    def __init__(self, filename: str) -> None:
        self.found: list[dict[str, Any]] = []
        self.watch = Watch(filename, lambda rule, text, line: self._add(rule, f"the submission {text}", line))
        self._before = snapshot()

    def take(self, *, full: bool) -> list[dict[str, Any]]:
        """What has changed since the last look, as violations of the `state` layer; `full`: namespaces too."""
        if full:
            now = snapshot()
            found = changes(self._before, now)
        else:
            now = State(self._before.names, switches())
            found = switched(self._before.switches, now.switches)
        for rule, text in found:
            self._add(rule, f"the submission {text}", None)
        self._before = State(now.names if full else self._before.names, now.switches)
        out, self.found = self.found[:8], []
        return out

    def _add(self, rule: str, message: str, line: int | None) -> None:
        self.found.append({"layer": "state", "rule": rule, "message": message, "line": line})
