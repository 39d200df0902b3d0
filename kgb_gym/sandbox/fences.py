"""What keeps an untrusted process in: which fences each role gets, and which of them hold on this machine.

Applied by the child itself between the fork and the first untrusted byte. Not covered: GPU memory of other processes'
contexts is separated by the driver, not by us; a kernel exploit defeats all of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import site
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgb_gym.sandbox import landlock, seccomp

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
INTERPRETED = frozenset({"player", "caller", "script"})
"""Roles that launch kernels: in the interpreter on the CPU, and with compilers beside them on a GPU."""


@dataclass(frozen=True)
class Fence:
    """One fence and whether it holds."""

    name: str
    holds: bool
    detail: str


def enter(role: str, *, device: str, scratch: str, memory_bytes: int | None, cpu_s: int | None) -> None:
    """Confine this process for one role: environment, limits, files, system calls.

    Args:
        role: `recorder`, `caller`, `player`, `script` or `compiler`.
        device: `cpu` or `cuda`. CUDA needs threads, device files and a large address space.
        scratch: the only folder that may be written.
        memory_bytes: see `limit`; None: not known yet.
        cpu_s: the same.
    """
    _environment(scratch, keep_interpreter=role in INTERPRETED and device == "cpu")
    os.chdir(scratch)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for kind, value in (
        (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 256 if device == "cpu" else 1024),
        (resource.RLIMIT_FSIZE, 256 << 20),
    ):  # fmt: skip
        resource.setrlimit(kind, (value, value))
    limit(device=device, memory_bytes=memory_bytes, cpu_s=cpu_s)
    starts_programs = role == "compiler" or (role in INTERPRETED and device == "cuda")
    with contextlib.suppress(OSError):
        landlock.restrict(
            read=(*readable(), *_OWN_PROC, *(_DRIVER_PROC if device == "cuda" else ())), write=[scratch, *(["/dev/shm"] if device == "cuda" else [])],
            execute=executable(device) if starts_programs else (), devices=device == "cuda",
        )  # fmt: skip
    with contextlib.suppress(OSError):
        seccomp.install(processes=starts_programs)


def limit(*, device: str, memory_bytes: int | None, cpu_s: int | None) -> None:
    """Limit what this process may use from now on; a limit can only be lowered.

    Args:
        device: `cpu` or `cuda`.
        memory_bytes: how much it may grow beyond what it holds now (enforced by the kernel on the CPU, by the watcher
            everywhere); None: no limit.
        cpu_s: processor seconds; None: no limit.
    """
    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    if device == "cpu" and memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + memory_bytes,) * 2)


def address_space() -> int:
    """Bytes of address space that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@cache
def readable() -> tuple[str, ...]:
    """What an untrusted process may read: the interpreter, installed packages and system libraries; never this
    project's own files (gold kernels among them)."""
    project = Path(__file__).resolve().parent.parent
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    packages |= {p for p in sys.path if p and Path(p).name in {"site-packages", "dist-packages"}}
    found = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/sys"]
    for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), f"{sys.base_prefix}/lib"}:
        if path:
            found += [str(e) for e in Path(path).glob("*") if e.name not in {"site-packages", "dist-packages"}
                      and not _has_packages(e)]  # fmt: skip
    for folder in sorted(packages | _extra_paths()):
        if folder and Path(folder).is_dir():
            found += [str(e) for e in Path(folder).iterdir() if not _ours(e, project)]
    found.append(str(sysconfig.get_path("include")))
    return tuple(f for f in found if os.path.exists(f))


@cache
def executable(device: str) -> tuple[str, ...]:
    """Programs that a compiler may start: Triton's assemblers and the loader; where launchers are built for a GPU
    (`cuda`), a C compiler too."""
    import triton

    found = [str(p) for p in Path(triton.__file__).parent.glob("backends/*/bin")]
    found += [str(p) for p in Path("/lib64").glob("ld-linux*")] + [str(p) for p in Path("/lib").glob("ld-linux*")]
    if device == "cuda":
        found += ["/lib", "/lib64", "/bin", "/sbin", "/usr/lib", "/usr/bin", "/usr/sbin", "/usr/libexec"]
        compilers = (shutil.which(os.environ.get("CC") or name) for name in ("gcc", "clang", "cc"))
        found += [str(Path(c).resolve().parent.parent) for c in compilers if c]
    return tuple(f for f in found if os.path.exists(f))


def doctor() -> list[Fence]:
    """Which fences hold on this machine, each tried in a child process of its own."""
    version = landlock.abi()
    return [
        Fence(
            "landlock", version > 0, f"version {version}" if version else "the kernel has none: files are not fenced"
        ),
        Fence("seccomp", _tried(lambda: seccomp.install(processes=False)), "system-call filter"),
        Fence("no new processes", _tried(_cannot_fork), "fork fails inside the filter"),
        Fence("no network", _tried(_cannot_connect), "making a socket fails inside the filter"),
        Fence("no writes outside", _tried(_cannot_write), "opening a file for writing elsewhere fails"),
        Fence("memory limit", _tried(_cannot_grow), "allocating beyond the limit fails (CPU roles)"),
        Fence("dies with its parent", _tried(lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)), "parent-death signal"),
    ]


def _environment(scratch: str, *, keep_interpreter: bool) -> None:
    keep = {k: os.environ[k] for k in _KEEP if k in os.environ}
    os.environ.clear()
    os.environ.update(keep)
    os.environ.update(
        HOME=scratch,
        TMPDIR=scratch,
        TRITON_HOME=scratch,
        TRITON_CACHE_DIR=f"{scratch}/triton",
        PYTHONDONTWRITEBYTECODE="1",
    )
    if keep_interpreter:
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        os.environ.pop("TRITON_INTERPRET", None)
    import tempfile

    tempfile.tempdir = scratch


_OWN_PROC = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys", "/proc/version")
"""Never other processes' folders: their environments hold keys, their memory the oracle's answers."""
_DRIVER_PROC = ("/proc/driver", "/proc/devices", "/proc/modules", "/proc/filesystems")
"""What NVIDIA's driver library reads besides."""

_KEEP = (
    "PATH", "LD_LIBRARY_PATH", "LANG", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "TRITON_DEFAULT_FP_FUSION", "CC", "TRITON_LIBCUDA_PATH", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
)  # fmt: skip


def _extra_paths() -> set[str]:
    """Folders on `sys.path` outside the standard places, such as a target folder of pip."""
    return {p for p in sys.path if p and (Path(p) / "torch").is_dir() or (p and (Path(p) / "gymnasium").is_dir())}


def _has_packages(path: Path) -> bool:
    return (path / "site-packages").is_dir() or (path / "dist-packages").is_dir()


def _ours(entry: Path, project: Path) -> bool:
    return entry.name.lower().replace("-", "_").startswith("kgb_gym") or entry.resolve() == project


def _tried(attempt: object) -> bool:
    """Whether `attempt` returns without an exception in a child process."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            attempt()  # type: ignore[operator]
            status = 0
        except BaseException:  # noqa: BLE001 (any failure means the fence does not hold)
            status = 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _cannot_fork() -> None:
    seccomp.install(processes=False)
    try:
        pid = os.fork()
    except OSError:
        return
    if pid == 0:
        os._exit(0)
    raise AssertionError("fork succeeded")


def _cannot_connect() -> None:
    import socket

    seccomp.install(processes=False)
    try:
        socket.socket()
    except OSError:
        return
    raise AssertionError("a socket could be made")


def _cannot_write() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as allowed, tempfile.TemporaryDirectory() as denied:
        landlock.restrict(read=["/"], write=[allowed])
        Path(allowed, "x").write_text("x")
        try:
            Path(denied, "x").write_text("x")
        except OSError:
            os._exit(0)
        os._exit(1)


def _cannot_grow() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + (64 << 20),) * 2)
    try:
        bytearray(256 << 20)
    except MemoryError:
        return
    raise AssertionError("the allocation succeeded")
