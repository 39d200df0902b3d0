"""The life of a template's child: told at once what it is for, or forked ahead and told later.

A child forked ahead prepares all that holds for any submission (a CUDA context, its fences) and waits for one order.
Nothing untrusted is in it before the order has come; it serves that one and ends. Never returns to the template's code.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

PR_SET_PDEATHSIG = 1
PACKET = 1 << 16

QUEUES = "1"
"""Hardware queues of a context, of CUDA's eight. Contexts are made one at a time on a device, each in less than half the
time with one queue; a worker's kernels run one after another on one stream, which needs no more."""

Roles = Mapping[str, Callable[..., None]]


def live(order: Mapping[str, Any], fds: Sequence[int], roles: Roles) -> None:
    """Serve an order right after the fork: message socket, log, further descriptors."""
    with _life():
        config = {**order["config"], "host_backed": _host_backed(order["role"], order["config"])}
        _become(fds)
        _speak(fds[1] if len(fds) > 1 else None)
        if order["role"] != "judge":
            _context(order["role"], config)
            _declaration(order["role"], config)
            _fence(order["role"], config)
        roles[order["role"]](socket.socket(fileno=fds[0]), {**config, "fds": list(fds[2:])})


def wait(role: str, config: Mapping[str, Any], control: socket.socket, roles: Roles) -> None:
    """Prepare, wait for one order over `control`, and serve it.

    Args:
        role: what it will be.
        config: `device`, `visible` and `scratch`, which hold for whatever it will serve.
        control: from the template; an end of it is the end of this process.
        roles: by name.
    """
    with _life():
        _become([control.fileno()])
        os.dup2(2, 1)  # what goes wrong here belongs to the template's log
        config = {**config, "host_backed": _host_backed(role, config)}
        _context(role, config)
        early = not _needs_declaration(role, config)
        if early:
            _fence(role, {**config, "memory_bytes": None, "cpu_s": None})
        data, fds, _, _ = socket.recv_fds(control, PACKET, 8)
        control.close()
        if not data:
            return
        order = json.loads(data)
        config = {**order["config"], **config}
        _speak(fds[1])
        if early:
            from kgb_gym.sandbox import fences

            fences.limit(device=config["device"], memory_bytes=config["memory_bytes"], cpu_s=config["cpu_s"])
        else:
            _declaration(role, config)
            _fence(role, config)
        roles[role](socket.socket(fileno=fds[0]), {**config, "fds": []})


@contextlib.contextmanager
def _life() -> Any:
    """Ends the process with the block; status 70 where it raised."""
    status = 70
    try:
        os.setsid()
        _die_with_parent()
        yield
        status = 0
    except BaseException:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _become(keep: Sequence[int]) -> None:
    """Let go of the template's descriptors but for standard output, standard error and `keep`."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    _close_others(keep)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _speak(log: int | None) -> None:
    log = os.open(os.devnull, os.O_WRONLY) if log is None else log
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (held open as long as its owner lives)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (held open as long as its owner lives)


def _context(role: str, config: Mapping[str, Any]) -> None:
    """The driver's start needs sockets and writes to /proc: open the device before the fences close."""
    if config["device"] != "cuda":
        return
    if config.get("visible"):
        os.environ.update(CUDA_VISIBLE_DEVICES=config["visible"], CUDA_DEVICE_ORDER="PCI_BUS_ID")
    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = QUEUES
    if role == "compiler":
        return
    if config["host_backed"]:
        from kgb_gym.verification.memory import HostBacked

        HostBacked.open()
        return
    import torch

    from kgb_gym.sandbox.leases import Leases

    with Leases().hold(config.get("visible") or "gpu-0", exclusive=False):
        torch.empty(1, device="cuda")
        torch.cuda.synchronize()
        if role == "player":
            from kgb_gym.sandbox import warm

            warm.driver()


def _host_backed(role: str, config: Mapping[str, Any]) -> bool:
    """Whether this process needs no context: it only shows tensors of the device (see `verification.memory`)."""
    if role != "recorder" or config["device"] != "cuda":
        return False
    from kgb_gym.verification.memory import HostBacked

    return HostBacked.possible()


def _needs_declaration(role: str, config: Mapping[str, Any]) -> bool:
    """Where a player times the baseline: the operator's module cannot be read once the fences are closed."""
    return bool(role == "player" and config["device"] == "cuda")


def _declaration(role: str, config: Mapping[str, Any]) -> None:
    if _needs_declaration(role, config):
        from kgb_gym.operators import get

        with contextlib.suppress(KeyError):
            get(config["operator"])


def _fence(role: str, config: Mapping[str, Any]) -> None:
    from kgb_gym.sandbox import fences

    fences.enter(
        role, device=config["device"], scratch=config["scratch"], memory_bytes=config["memory_bytes"],
        cpu_s=config["cpu_s"],
    )  # fmt: skip


def _close_others(keep: Sequence[int]) -> None:
    start = 3
    for fd in sorted(keep):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
