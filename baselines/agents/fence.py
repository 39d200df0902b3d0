"""Starts an agent's program inside a fence, and ends everything it started. Run as a script of its own.

It stays outside the fence as the parent of whatever the agent leaves behind, and kills all of it when the program
ends, when it is told to (SIGTERM), or when its own parent is gone. The fence is Landlock: only named folders can be
read, written and executed, TCP only to named ports, signals and abstract sockets only within, no capabilities. Standard library alone,
so that it starts at once and holds nothing worth reading.

Not covered: UDP, and what a program does with the folders and ports that it was given.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CREATE, ADD, RESTRICT = 444, 445, 446
NO_NEW_PRIVILEGES, DEATH_SIGNAL, SUBREAPER, DROP_BOUND, SECURE_BITS = 38, 1, 36, 24, 28
NO_ROOT = 0b11
"""Secure bits: being root means nothing, and that stays so."""
EXECUTE, WRITE, READ, LIST, TRUNCATE, IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE | READ | TRUNCATE | IOCTL
ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
CONNECT = 1 << 1
NOT_STARTED = 126
"""Exit status where the fence or the program could not be set up; standard error says why."""


def main() -> int:
    """Standard input holds a JSON object with `command`, `cwd`, `environment`, `read`, `execute`, `write`, `devices`,
    `ports`, `fenced` and `parent`. The exit status is the program's, or 128 plus its signal."""
    config = json.load(sys.stdin)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    libc.prctl(DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, _told_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        _become(config)
    try:
        # The parent may have gone before its death could be heard of.
        status = _wait_for(child) if os.getppid() == config["parent"] else NOT_STARTED
    except _Ended:
        status = 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all()
    return status


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(CREATE, None, ctypes.c_size_t(0), 1)))


def restrict(config: dict[str, Any]) -> None:
    """Confine this process and all it may start.

    Raises:
        OSError: the kernel has no Landlock, or refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = abi()
    if not version:
        raise OSError("the kernel has no Landlock")
    handled = ALL[min(version, 5)]
    if config["devices"]:
        handled &= ~IOCTL
    ports = config["ports"] if version >= 4 else None
    attributes = struct.pack("<QQQ", handled, 0 if ports is None else CONNECT, 3 if version >= 6 else 0)
    size = ctypes.c_size_t(24 if version >= 6 else 16 if version >= 4 else 8)
    ruleset = libc.syscall(CREATE, ctypes.create_string_buffer(attributes, 24), size, 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    small = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
    for paths, rights in (
        (config["read"], READ | LIST),
        (config["execute"], READ | LIST | EXECUTE),
        (config["write"], handled),
        (("/dev", "/dev/shm") if config["devices"] else small, READ | LIST | WRITE | TRUNCATE | IOCTL),
    ):
        _allow(libc, ruleset, paths, rights & handled)
    for port in ports or ():
        rule = ctypes.create_string_buffer(struct.pack("<QQ", CONNECT, int(port)), 16)
        if libc.syscall(ADD, ruleset, 2, rule, 0):
            raise OSError(ctypes.get_errno(), f"landlock_add_rule for port {port}")
    # Root's capabilities reach round the fence: with CAP_PERFMON other processes' environments can be read.
    libc.prctl(SECURE_BITS, NO_ROOT, 0, 0, 0)
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(RESTRICT, ruleset, 0):
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)


def end_all() -> None:
    """Kill every process below this one, until none is left."""
    for _ in range(500):
        below = list(_below(os.getpid()))
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not below:
            return
        time.sleep(0.01)


class _Ended(BaseException):
    pass


def _told_to_end(number: int, frame: Any) -> None:
    raise _Ended


def _become(config: dict[str, Any]) -> None:
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(config["cwd"])
        if config["fenced"]:
            restrict(config)
        os.execvpe(config["command"][0], config["command"], config["environment"])
    except BaseException as error:  # noqa: BLE001  # whatever it is, this process must end here
        os.write(2, f"kgb: the agent was not started: {error}\n".encode())
    os._exit(NOT_STARTED)


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _below(top: int) -> Iterable[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    children.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = list(children.get(top, ()))
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, ())


def _allow(libc: ctypes.CDLL, ruleset: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            given = rights if os.path.isdir(path) else rights & OF_FILES
            rule = ctypes.create_string_buffer(struct.pack("<Qi", given, handle), 12)
            if libc.syscall(ADD, ruleset, 1, rule, 0):
                raise OSError(ctypes.get_errno(), f"landlock_add_rule for {path}")
        finally:
            os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
