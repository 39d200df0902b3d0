"""A warm template: a process that has imported everything and only forks.

Two exist beside an engine: `native` (records, compiles, judges; plays on NVIDIA) and `interpreter` (plays on the CPU).
A template never touches CUDA, never computes an oracle, never runs a thread; its children are used once. Owners (the
engine, and one judge a worker) talk to it over sequenced-packet sockets; an owner that goes away takes its children
with it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PACKET = 1 << 16


@dataclass
class _Child:
    owner: int
    number: int
    pid: int
    handle: int


@dataclass
class _State:
    owners: dict[int, socket.socket] = field(default_factory=dict)
    children: dict[int, _Child] = field(default_factory=dict)
    """By pidfd."""


def main() -> None:
    """Entry of `python -m kgb_gym.sandbox.template MODE FD ROOT`."""
    mode, number, root = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    engine = socket.socket(fileno=number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    roles = _warm(mode, root)
    _subreaper()
    gc.collect()
    gc.freeze()
    engine.send(json.dumps({"ready": mode, "threads": _threads()}).encode())
    _serve(engine, roles)
    # The engine is gone, perhaps killed: its folder goes with it. The other template may still be about to do the same.
    shutil.rmtree(os.path.dirname(root), ignore_errors=True)


def _warm(mode: str, root: str) -> dict[str, Callable[..., None]]:
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    from torch.utils._python_dispatch import TorchDispatchMode

    from kgb_gym.operators import baseline  # noqa: F401 (imported before the fences close)
    from kgb_gym.platforms.interpreter import repair
    from kgb_gym.sandbox import fences, warm, worker
    from kgb_gym.verification import compiler, player, recorder, timing  # noqa: F401 (as above)

    fences.readable()
    fences.executable("cpu")
    if mode == "interpreter":
        repair()
        warm.interpret()
    else:
        warm.compile_once(os.path.join(root, "warm"))
    import triton.runtime.autotuner  # noqa: F401 (as above)

    class Pass(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Pass():  # type: ignore[no-untyped-call]
        torch.empty(1)
    library = torch.library.Library("aten", "IMPL")
    library._destroy()
    return {
        "recorder": recorder.serve, "caller": recorder.serve, "player": player.serve, "compiler": compiler.serve, "judge": worker.serve,
    }  # fmt: skip


def _serve(engine: socket.socket, roles: dict[str, Callable[..., None]]) -> None:
    state = _State({engine.fileno(): engine})
    poll = select.poll()
    poll.register(engine, select.POLLIN)
    while True:
        for handle, _ in poll.poll():
            if handle in state.children:
                poll.unregister(handle)
                _reap(state, handle)
                continue
            try:
                data, fds, _, _ = socket.recv_fds(state.owners[handle], PACKET, 8)
            except OSError:
                data, fds = b"", []
            if not data:
                last = handle == engine.fileno()
                poll.unregister(handle)
                _drop_owner(state, handle)
                if last:
                    _end_all(state)
                    return
                continue
            _obey(state, poll, handle, json.loads(data), fds, roles)


def _obey(
    state: _State, poll: select.poll, handle: int, order: dict[str, Any], fds: list[int],
    roles: dict[str, Callable[..., None]],
) -> None:  # fmt: skip
    if order["op"] == "channel":
        channel = socket.socket(fileno=fds[0])
        state.owners[channel.fileno()] = channel
        poll.register(channel, select.POLLIN)
    elif order["op"] == "spawn":
        try:
            pid = os.fork()
        except OSError as error:
            _tell(state, handle, {"id": order["id"], "failed": str(error)})
            pid = -1
        if pid == 0:
            _child(state, order, fds, roles)
        for fd in fds:
            os.close(fd)
        if pid > 0:
            pidfd = os.pidfd_open(pid)
            state.children[pidfd] = _Child(handle, order["id"], pid, pidfd)
            poll.register(pidfd, select.POLLIN)
            _tell(state, handle, {"id": order["id"], "pid": pid})
    elif order["op"] == "kill":
        for child in state.children.values():
            if child.owner == handle and child.number == order["id"]:
                _kill(child.pid)


def _child(state: _State, order: dict[str, Any], fds: list[int], roles: dict[str, Callable[..., None]]) -> None:
    """The life of a fork; never returns."""
    status = 70
    try:
        os.setsid()
        config = order["config"]
        role = order["role"]
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        log = fds[1] if len(fds) > 1 else os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        keep = [fds[0], *fds[2:]]
        _close_others(keep)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (held open as long as its owner lives)
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (held open as long as its owner lives)
        sock = socket.socket(fileno=fds[0])
        if role == "judge":
            _die_with_parent()
        else:
            from kgb_gym.sandbox import fences

            if config["device"] == "cuda" and role != "compiler":
                # The driver's start needs sockets and writes to /proc: open the device before the fences close.
                import torch

                torch.empty(1, device="cuda")
                torch.cuda.synchronize()
            if config["device"] == "cuda" and role == "player":
                # It times the baseline, whose module cannot be read once the fences are closed.
                from kgb_gym.operators import get

                with contextlib.suppress(KeyError):
                    get(config["operator"])
            fences.enter(
                role, device=config["device"], scratch=config["scratch"], memory_bytes=config["memory_bytes"],
                cpu_s=config["cpu_s"],
            )  # fmt: skip
        roles[role](sock, {**config, "fds": fds[2:]})
        status = 0
    except BaseException:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _close_others(keep: list[int]) -> None:
    start = 3
    for fd in sorted(keep):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def _reap(state: _State, handle: int) -> None:
    child = state.children.pop(handle)
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    os.close(handle)
    _kill_strays({c.pid for c in state.children.values()})
    _tell(state, child.owner, {"id": child.number, "ended": os.waitstatus_to_exitcode(status)})


def _drop_owner(state: _State, handle: int) -> None:
    state.owners.pop(handle).close()
    for child in state.children.values():
        if child.owner == handle:
            _kill(child.pid)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(pid, signal.SIGKILL)


def _kill_strays(known: set[int]) -> None:
    """Descendants that left their process group are ours now (we are their subreaper): end them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            pids = {int(p) for p in file.read().split()}
    except OSError:
        return
    for pid in pids - known:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _end_all(state: _State) -> None:
    for child in state.children.values():
        _kill(child.pid)
    for child in state.children.values():
        os.waitpid(child.pid, 0)
    _kill_strays(set())


def _tell(state: _State, owner: int, answer: dict[str, Any]) -> None:
    channel = state.owners.get(owner)
    if channel is not None:
        with contextlib.suppress(OSError):
            channel.send(json.dumps(answer).encode())


def _subreaper() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _die_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    main()
