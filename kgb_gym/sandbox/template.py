"""A warm template: a process that has imported everything and only forks.

Two exist beside an engine: `native` (records, compiles, judges; plays on NVIDIA) and `interpreter` (plays on the CPU).
A template never touches CUDA, never computes an oracle, never runs a thread; its children are used once. Owners (the
engine, and one judge a worker) talk to it over sequenced-packet sockets; an owner that goes away takes its children
with it. In quiet moments it forks children ahead of need (`pool`).
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
import time
from dataclasses import dataclass, field
from typing import Any

from kgb_gym.sandbox import child as life
from kgb_gym.sandbox.child import PACKET, Roles
from kgb_gym.sandbox.pool import Pool, Waiting, Want, parsed

PR_SET_CHILD_SUBREAPER = 36
QUIET_S = 0.03
"""Nothing is forked ahead so soon after an order: what was ordered comes first."""


@dataclass
class _Child:
    owner: int
    number: int
    pid: int
    handle: int
    scratch: str = ""
    """The template's own folder for it, if it was forked ahead."""


WAITS = -1
"""Owner of a child that waits for its order."""


@dataclass
class _State:
    pool: Pool
    roles: Roles
    poll: select.poll
    owners: dict[int, socket.socket] = field(default_factory=dict)
    children: dict[int, _Child] = field(default_factory=dict)
    """By pidfd."""
    ordered: float = 0.0
    """When the last order came."""
    retired: bool = False
    """The engine goes on without this template."""


def main() -> None:
    """Entry of `python -m kgb_gym.sandbox.template MODE FD ROOT WANTS`."""
    mode, number, root, wants = sys.argv[1], int(sys.argv[2]), sys.argv[3], parsed(sys.argv[4])
    engine = socket.socket(fileno=number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    roles = _warm(mode, root)
    _subreaper()
    gc.collect()
    gc.freeze()
    engine.send(json.dumps({"ready": mode, "threads": _threads()}).encode())
    state = _State(Pool(wants, root), roles, select.poll(), {engine.fileno(): engine})
    _serve(engine, state)
    # An engine that was killed says nothing: its folder goes with it. The other template may be about to do the same.
    shutil.rmtree(root if state.retired else os.path.dirname(root), ignore_errors=True)


def _warm(mode: str, root: str) -> Roles:
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    from torch.utils._python_dispatch import TorchDispatchMode

    from kgb_gym.operators import baseline  # noqa: F401 (imported before the fences close)
    from kgb_gym.platforms.interpreter import repair
    from kgb_gym.sandbox import fences, heap, warm, worker
    from kgb_gym.verification import compiler, player, recorder, scripting, timing  # noqa: F401 (as above)

    fences.readable()
    fences.executable("cpu")
    if mode == "interpreter":
        repair()
        warm.interpret()
    else:
        heap.keep()
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
        "script": scripting.serve,
    }  # fmt: skip


def _serve(engine: socket.socket, state: _State) -> None:
    poll = state.poll
    poll.register(engine, select.POLLIN)
    while True:
        events = poll.poll(int(QUIET_S * 1000) if state.pool.missing() is not None else 500)
        for handle, _ in events:
            if handle in state.children:
                poll.unregister(handle)
                _reap(state, handle)
                continue
            if handle not in state.owners:
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
            _obey(state, handle, json.loads(data), fds)
        # Whatever else is asked (who waits, an end), only an order to spawn makes the moment a busy one.
        if time.monotonic() - state.ordered >= QUIET_S and (want := state.pool.missing()) is not None:
            _fork_ahead(state, want)


def _obey(state: _State, handle: int, order: dict[str, Any], fds: list[int]) -> None:
    if order["op"] == "channel":
        channel = socket.socket(fileno=fds[0])
        state.owners[channel.fileno()] = channel
        state.poll.register(channel, select.POLLIN)
    elif order["op"] == "spawn":
        state.ordered = time.monotonic()
        _spawn(state, handle, order, fds)
    elif order["op"] == "retire":
        state.retired = True
    elif order["op"] == "pool":
        _tell(state, handle, {"id": order["id"], "waiting": state.pool.pids()})
    elif order["op"] == "kill":
        for child in state.children.values():
            if child.owner == handle and child.number == order["id"]:
                _kill(child.pid)


def _spawn(state: _State, owner: int, order: dict[str, Any], fds: list[int]) -> None:
    """Give the order to a child that waits for one, or to a fresh one."""
    ready = state.pool.hand_over(order, fds)
    if ready is not None:
        handle = next(h for h, c in state.children.items() if c.pid == ready.pid)
        state.children[handle] = _Child(owner, order["id"], ready.pid, handle, ready.scratch)
        _tell(state, owner, {"id": order["id"], "pid": ready.pid, "scratch": ready.scratch})
    else:
        try:
            pid = os.fork()
        except OSError as error:
            _tell(state, owner, {"id": order["id"], "failed": str(error)})
            pid = -1
        if pid == 0:
            life.live(order, fds, state.roles)
        if pid > 0:
            _watch(state, owner, order["id"], pid)
            _tell(state, owner, {"id": order["id"], "pid": pid})
    for fd in fds:
        os.close(fd)


def _fork_ahead(state: _State, want: Want) -> None:
    scratch = state.pool.scratch(want)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        pid = -1
    if pid == 0:
        config = {"device": want.device, "visible": want.visible, "scratch": scratch}
        life.wait(want.role, config, theirs, state.roles)
    theirs.close()
    waiting = Waiting(want, pid, ours, scratch)
    state.pool.add(waiting)
    if pid > 0:
        _watch(state, WAITS, 0, pid)
    else:
        state.pool.gone(pid)


def _watch(state: _State, owner: int, number: int, pid: int) -> None:
    pidfd = os.pidfd_open(pid)
    state.children[pidfd] = _Child(owner, number, pid, pidfd)
    state.poll.register(pidfd, select.POLLIN)


def _reap(state: _State, handle: int) -> None:
    child = state.children.pop(handle)
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    os.close(handle)
    _kill_strays({c.pid for c in state.children.values()})
    if child.owner == WAITS:
        state.pool.gone(child.pid)
        return
    if child.scratch and child.owner not in state.owners:
        with contextlib.suppress(RecursionError):
            shutil.rmtree(child.scratch, ignore_errors=True)
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


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    main()
