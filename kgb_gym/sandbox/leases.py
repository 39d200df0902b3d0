"""Leases of devices among all processes and users of one machine, by kernel file locks.

Correctness work shares a device; timing takes it alone. The kernel frees a lock when its holder dies, however it dies,
so a lease can't be left behind; beside each lock a note says which process holds it, and is itself locked as long as
that process lives. Whoever wants a device takes a turnstile first, so that work which shares cannot starve timing.
Not covered: processes that don't ask for a lease, and machines that share a GPU but not this folder (containers must
be given the same one: `KGB_LOCK_DIR`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import itertools
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = "/tmp/kgb-gym-devices"  # one place for all users: TMPDIR may differ between them
_numbers = itertools.count()


@dataclass(frozen=True)
class Holder:
    """Who holds a lease."""

    pid: int
    user: str
    exclusive: bool
    since: float
    """Seconds since the epoch."""


class Leases:
    """The leases of this machine.

    Args:
        folder: where the locks lie; default: `KGB_LOCK_DIR`, or one that all users of the machine share.

    Raises:
        PermissionError: the folder is a link, or someone made it so that others can't use it.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get("KGB_LOCK_DIR") or FOLDER)
        with contextlib.suppress(FileExistsError):
            self.folder.mkdir(parents=True)
            self.folder.chmod(0o1777)
        if not stat.S_ISDIR(self.folder.lstat().st_mode) or not os.access(self.folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{self.folder} is no folder that this user may write: set KGB_LOCK_DIR to one")

    @contextlib.contextmanager
    def hold(self, device: str, *, exclusive: bool) -> Iterator[None]:
        """Hold a device, alone or shared; waits until it can be had.

        Args:
            device: its name, the same in every process (a GPU's UUID).
            exclusive: alone, for timing.
        """
        with contextlib.ExitStack() as stack:
            with _opened(self._path(device, "turn")) as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                lock = stack.enter_context(_opened(self._path(device, "lock")))
                fcntl.flock(lock, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            stack.enter_context(self._noted(device, exclusive))
            yield

    def holders(self, device: str) -> list[Holder]:
        """Who holds it now. Notes of processes that have died are removed where this user may."""
        found = []
        for path in sorted(self.folder.glob(f"{_plain(device)}.*.holder")):
            with contextlib.suppress(OSError), _opened(path, make=False) as note:
                try:
                    fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    with contextlib.suppress(ValueError, TypeError):
                        found.append(Holder(**json.loads(os.pread(note, 4096, 0))))
                else:
                    path.unlink()
        return found

    @contextlib.contextmanager
    def _noted(self, device: str, exclusive: bool) -> Iterator[None]:
        path = self._path(device, f"{os.getpid()}-{next(_numbers)}.holder")
        holder = Holder(os.getpid(), _user(), exclusive, time.time())
        with contextlib.suppress(OSError):
            path.unlink()  # of an earlier process with this id; another user's can only be written anew
        with _opened(path) as note:
            fcntl.flock(note, fcntl.LOCK_EX)
            os.ftruncate(note, 0)
            os.pwrite(note, json.dumps(asdict(holder)).encode(), 0)
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _path(self, device: str, kind: str) -> Path:
        return self.folder / f"{_plain(device)}.{kind}"


@contextlib.contextmanager
def _opened(path: Path, *, make: bool = True) -> Iterator[int]:
    """A file that all users may lock. In a sticky folder one that exists must be opened without O_CREAT."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = -1
    while handle < 0:
        try:
            handle = os.open(path, flags)
        except FileNotFoundError:
            if not make:
                raise
            try:
                handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
                os.fchmod(handle, 0o666)
            except FileExistsError:
                continue
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise PermissionError(f"{path} is a link: remove it, or set KGB_LOCK_DIR") from error
            raise
    try:
        yield handle
    finally:
        os.close(handle)


def _plain(device: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "_", device)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
