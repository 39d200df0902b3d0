"""One episode's folders: what an agent finds, and what it may do where."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgb_gym.baselines.agents import verify
from kgb_gym.verification.protocols import MAX_SOURCE_BYTES

KERNEL = "kernel.py"
TASK = "TASK.md"


@dataclass(frozen=True)
class Workspace:
    """`work`, `home` and `tmp` are the agent's own; `bin` it can only read; `judge.sock` is where it asks."""

    root: Path

    @classmethod
    def make(cls, task: str) -> Workspace:
        """New folders below the temporary folder, with the task and the `verify` command in them."""
        root = Path(tempfile.mkdtemp(prefix="kgb-agent-")).resolve()
        space = cls(root)
        for folder in (space.work, space.home, space.tmp, space.bin):
            folder.mkdir()
        (space.work / TASK).write_text(task, encoding="utf-8")
        text = Path(verify.__file__).read_text(encoding="utf-8")
        command = space.bin / "verify"
        command.write_text(f"#!{sys.executable} -I\n{text}", encoding="utf-8")
        command.chmod(0o755)
        return space

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def socket(self) -> Path:
        return self.root / "judge.sock"

    def add_home(self, files: Mapping[str, str]) -> None:
        """Put texts below the agent's HOME."""
        for name, text in files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def add_folder(self, source: Path, name: str) -> None:
        """Copy a folder into the work folder; links and version control are left out."""
        shutil.copytree(source, self.work / name, symlinks=False, ignore=_not_plain, dirs_exist_ok=True)

    def kernel(self) -> str | None:
        """The agent's kernel; None where there is none, it is no plain file, or it is too long.

        A link is never followed: we may read what the agent may not.
        """
        try:
            fd = os.open(self.work / KERNEL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or about.st_size > MAX_SOURCE_BYTES:
                return None
            with open(fd, "rb", closefd=False) as file:
                data = file.read(MAX_SOURCE_BYTES + 1)
        finally:
            os.close(fd)
        return data.decode("utf-8", "surrogateescape") if len(data) <= MAX_SOURCE_BYTES else None

    def remove(self) -> None:
        """Remove everything. May be called twice."""
        for folder, _, _ in os.walk(self.root):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
        shutil.rmtree(self.root, ignore_errors=True)


def _not_plain(folder: str, names: list[str]) -> set[str]:
    paths = {name: Path(folder) / name for name in names}
    return {
        n for n, p in paths.items() if n in {".git", "__pycache__"} or p.is_symlink() or not (p.is_dir() or p.is_file())
    }
