"""Landlock: which files a process may read, write and execute, and no TCP, as the kernel enforces it.

Not covered: files opened before, and kernels older than the rights asked for (those rights are left out, and said so).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_DIRECTORY_RIGHTS = (1 << 16) - 1 & ~(EXECUTE | WRITE_FILE | READ_FILE | (1 << 14) | (1 << 15))
TRUNCATE = 1 << 14
IOCTL_DEVICE = 1 << 15
_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    version = int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), 1))
    return max(0, version)


def restrict(
    *,
    read: Iterable[str | Path],
    write: Iterable[str | Path],
    execute: Iterable[str | Path] = (),
    devices: bool = False,
) -> int:
    """Confine this process and all it may start; it cannot be taken back.

    Args:
        read: files and folders that may be read (folders with all below them).
        write: folders in which everything but executing is allowed.
        execute: files and folders that may be read and executed.
        devices: leave device files readable and writable (GPUs).

    Returns:
        The Landlock version in force.

    Raises:
        OSError: the kernel has no Landlock.
    """
    version = abi()
    if not version:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    handled = _BY_ABI[min(version, 5)]
    if devices:
        handled &= ~IOCTL_DEVICE
    attributes = struct.pack("<QQQ", handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    libc = _libc()
    buffer = ctypes.create_string_buffer(attributes, 24)
    ruleset = libc.syscall(_CREATE, buffer, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    try:
        for paths, rights in (
            (read, READ_FILE | READ_DIR),
            (execute, READ_FILE | READ_DIR | EXECUTE),
            (write, handled & ~EXECUTE),
            ((("/dev",) if devices else ("/dev/null", "/dev/zero", "/dev/urandom")),
             READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE),
        ):  # fmt: skip
            for path in paths:
                _allow(libc, ruleset, path, rights & handled)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs")
        if libc.syscall(_RESTRICT, ruleset, 0):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(ruleset)
    return version


def _allow(libc: ctypes.CDLL, ruleset: int, path: str | Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, handle), 12)
        if libc.syscall(_ADD, ruleset, 1, rule, 0):
            raise OSError(ctypes.get_errno(), f"landlock_add_rule {path}")
    finally:
        os.close(handle)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
