"""A seccomp filter: system calls that no recorder or player needs fail with EPERM.

Not covered: anything a permitted system call can do. Landlock (`landlock.py`) narrows what files those may reach.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
CLONE_THREAD = 0x00010000
X32 = 0x40000000

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL = 0x80000000

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_NETWORK = ("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4")
_SYSTEM = (
    "ptrace", "process_vm_readv", "process_vm_writev", "shmget", "semget", "msgget", "mount", "umount2", "pivot_root",
    "unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
    "init_module", "finit_module", "kexec_load", "reboot", "swapon", "swapoff", "settimeofday", "clock_settime",
    "chroot", "pidfd_send_signal", "pidfd_getfd", "mq_open", "setpriority", "sched_setparam", "sched_setscheduler",
    "sched_setattr", "ioprio_set", "process_madvise", "migrate_pages", "move_pages",
)  # fmt: skip
_METADATA = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
    "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
)  # fmt: skip
"""Modes, owners and times of files, which Landlock leaves to whoever owns them."""
_OTHERS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "sched_setaffinity", "prlimit64")
"""What a process may do to itself and to no other: the first argument is its own number (or 0, but for signals)."""
_SIGNALS = frozenset(_OTHERS[:5])
_PROCESSES = ("fork", "vfork", "execve", "execveat")

NUMBERS = {
    "x86_64": {
        "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "clone": 56, "fork": 57,
        "vfork": 58, "execve": 59, "ptrace": 101, "shmget": 29, "semget": 64, "msgget": 68, "mount": 165, "umount2": 166,
        "pivot_root": 155, "unshare": 272, "setns": 308, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "execveat": 322, "process_vm_readv": 310,
        "process_vm_writev": 311, "accept4": 288, "clone3": 435, "init_module": 175, "finit_module": 313,
        "kexec_load": 246, "reboot": 169, "swapon": 167, "swapoff": 168, "settimeofday": 164, "clock_settime": 227,
        "chroot": 161, "pidfd_send_signal": 424, "pidfd_getfd": 438, "mq_open": 240, "setpriority": 141, "sched_setparam": 142,
        "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314, "ioprio_set": 251, "prlimit64": 302,
        "process_madvise": 440, "migrate_pages": 256, "move_pages": 279, "kill": 62, "tkill": 200, "tgkill": 234,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452,
        "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261,
        "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
        "fremovexattr": 199,
    },
    "aarch64": {
        "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "accept4": 242,
        "clone": 220, "execve": 221, "execveat": 281, "ptrace": 117, "shmget": 194, "semget": 190, "msgget": 186,
        "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "keyctl": 219, "add_key": 217,
        "request_key": 218, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425,
        "process_vm_readv": 270, "process_vm_writev": 271, "clone3": 435, "init_module": 105, "finit_module": 273,
        "kexec_load": 104, "reboot": 142, "swapon": 224, "swapoff": 225, "settimeofday": 170, "clock_settime": 112,
        "chroot": 51, "pidfd_send_signal": 424, "pidfd_getfd": 438, "mq_open": 180, "setpriority": 140, "sched_setparam": 118, "sched_setscheduler": 119,
        "sched_setaffinity": 122, "sched_setattr": 274, "ioprio_set": 30, "prlimit64": 261, "process_madvise": 440,
        "migrate_pages": 238, "move_pages": 239, "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "fchown": 55, "fchownat": 54,
        "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
        "fremovexattr": 16,
    },
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install(*, processes: bool, network: bool = False) -> None:
    """Install the filter on this process and all it may start; it cannot be taken off.

    Args:
        processes: whether it may start child processes (threads always may). If not, it may send signals to itself
            alone, set no other's limits and processors, and change no file's mode, owner or times.
        network: whether it may make sockets.

    Raises:
        OSError: the kernel or the architecture has no such filters.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no seccomp table for {machine}")
    numbers = NUMBERS[machine]
    denied = [*_SYSTEM, *(() if network else _NETWORK), *(() if processes else (*_PROCESSES, *_METADATA))]
    code = [
        _statement(0x20, 4),
        _jump(0x15, ARCHITECTURES[machine], 1, 0),
        _statement(0x06, _KILL),
        _statement(0x20, 0),
    ]
    if machine == "x86_64":
        # The x32 interface: the same calls by other numbers.
        code += [_jump(0x35, X32, 0, 1), _statement(0x06, _ERRNO | errno.EPERM)]
    for number in sorted(numbers[name] for name in denied if name in numbers):
        code += [_jump(0x15, number, 0, 1), _statement(0x06, _ERRNO | errno.EPERM)]
    if not processes:
        for name in _OTHERS:
            allowed = [os.getpid()] if name in _SIGNALS else [os.getpid(), 0]
            code += [_jump(0x15, numbers[name], 0, len(allowed) + 3), _statement(0x20, 16)]
            code += [_jump(0x15, one, len(allowed) - i, 0) for i, one in enumerate(allowed)]
            code += [_statement(0x06, _ERRNO | errno.EPERM), _statement(0x06, _ALLOW)]
        # clone with CLONE_THREAD makes a thread; without it, a process. clone3 hides its flags: say there is none.
        code += [_jump(0x15, numbers["clone3"], 0, 1), _statement(0x06, _ERRNO | errno.ENOSYS)]
        code += [
            _jump(0x15, numbers["clone"], 0, 4), _statement(0x20, 16), _jump(0x45, CLONE_THREAD, 1, 0),
            _statement(0x06, _ERRNO | errno.EPERM), _statement(0x06, _ALLOW),
        ]  # fmt: skip
    code.append(_statement(0x06, _ALLOW))
    raw = b"".join(code)
    buffer = ctypes.create_string_buffer(raw, len(raw))
    program = _Program(len(code), ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _statement(code: int, k: int) -> bytes:
    return struct.pack("<HBBI", code, 0, 0, k)


def _jump(code: int, k: int, true: int, false: int) -> bytes:
    return struct.pack("<HBBI", code, true, false, k)
