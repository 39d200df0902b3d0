"""Starts an agent's program in its fence, follows its output, and ends it with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgb_gym.baselines.agents import fence
from kgb_gym.baselines.agents.workspace import Workspace
from kgb_gym.baselines.models.errors import MissingProgram
from kgb_gym.sandbox import fences

MAX_OUTPUT = 4 << 20
"""Characters of an agent's output that are kept for one step: the beginning and the end of it."""
END_S = 10.0
"""Seconds that the fence has to kill what the agent started, before it is killed itself."""
ALLOWED = ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "CUDA_VISIBLE_DEVICES", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What of our environment an agent gets, beside what the run's configuration names."""


@dataclass(frozen=True)
class Reach:
    """What an agent may use of the machine."""

    program: Path
    """The executable."""
    readable: tuple[Path, ...] = ()
    """Further folders that may be read and executed."""
    pass_env: tuple[str, ...] = ()
    """Further environment variables that are passed on."""
    devices: bool = False
    """Device files: GPUs."""
    fenced: bool = True


def find_program(command: str, install: str, given: str | None = None) -> Path:
    """The executable.

    Args:
        command: its usual name.
        install: how it is installed.
        given: a name or path to use in its place.

    Raises:
        MissingProgram: it isn't there.
    """
    found = shutil.which(given or command)
    if found is None:
        what = f"there is no program {given}" if given else f"the program {command!r} is not on the PATH"
        raise MissingProgram(f"{what}: install it ({install}), or give its path with --program")
    return Path(found).absolute()


def check_fence(reach: Reach) -> None:
    """Whether the fence holds here, and keeps gold kernels and oracles out of reach.

    Raises:
        MissingProgram: it doesn't; the message says what to do.
    """
    if not reach.fenced:
        return
    if not fence.abi():
        raise MissingProgram(
            "this kernel has no Landlock, so an agent could read gold kernels and oracles: run on Linux 5.13 or newer, "
            "or say --unfenced, which is recorded with the run"
        )
    project = Path(fences.__file__).resolve().parent.parent
    ours = [project, *(p.resolve() for p in project.iterdir() if p.is_symlink())]
    system = (Path(p) for p in (*_system(), *fences.readable()))
    for path in (*reach.readable, *_of_program(reach.program), *system):
        if any(own.is_relative_to(path.resolve()) for own in ours):
            raise MissingProgram(
                f"{path} holds this package, and an agent that may read it could read gold kernels: keep it out of "
                "--readable, and install the package into a virtual environment of its own"
            )


def environment(space: Workspace, reach: Reach, more: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment: an allow-list of ours, folders of its own, and what its call needs."""
    folders = [space.bin, Path(sys.executable).parent, reach.program.parent]
    if (node := shutil.which("node")) is not None:
        folders.append(Path(node).parent)
    path = [*(str(f) for f in folders), "/usr/local/bin", "/usr/bin", "/bin"]
    kept = {name: os.environ[name] for name in (*ALLOWED, *reach.pass_env) if name in os.environ}
    own = {
        "PATH": os.pathsep.join(dict.fromkeys(path)),
        "HOME": str(space.home),
        "TMPDIR": str(space.tmp),
        "XDG_CONFIG_HOME": str(space.home / ".config"),
        "XDG_CACHE_HOME": str(space.home / ".cache"),
        "XDG_DATA_HOME": str(space.home / ".local/share"),
        "XDG_STATE_HOME": str(space.home / ".local/state"),
        "TRITON_CACHE_DIR": str(space.home / ".triton"),
        "SHELL": "/bin/sh",
        "USER": "agent",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    return {**kept, **own, **more}


@dataclass
class Running:
    """A program in its fence."""

    process: subprocess.Popen[bytes]
    _said: list[str] = field(default_factory=list)
    _size: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _readers: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        space: Workspace,
        reach: Reach,
        env: Mapping[str, str],
        ports: Sequence[int],
        heard: Callable[[str], None],
    ) -> Running:
        """Start a program.

        Args:
            command: the executable with its arguments.
            space: its folders.
            reach: what it may use.
            env: its whole environment.
            ports: TCP ports that it may connect to.
            heard: is told each line of its standard output.
        """
        execute = [*_system(), *map(str, _of_program(reach.program)), *map(str, reach.readable), str(space.bin)]
        config = {
            "command": list(command),
            "cwd": str(space.work),
            "environment": dict(env),
            "read": [*fences.readable(), "/etc", "/proc", "/run/systemd/resolve", f"{sys.prefix}/pyvenv.cfg", str(space.root)],
            "execute": execute,
            "write": [str(space.home), str(space.tmp), str(space.work)],
            "devices": reach.devices,
            "ports": list(ports),
            "fenced": reach.fenced,
            "parent": os.getpid(),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-I", fence.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        # Not as an argument: those are shown to every user of the machine, and this holds secrets.
        assert process.stdin is not None
        with process.stdin as stream, contextlib.suppress(BrokenPipeError):
            stream.write(json.dumps(config).encode())
        running = cls(process)
        for output, listener in ((process.stdout, heard), (process.stderr, None)):
            reader = threading.Thread(target=running._follow, args=(output, listener), daemon=True)
            reader.start()
            running._readers.append(reader)
        return running

    @property
    def over(self) -> bool:
        """Whether it has ended, and all of its output was read."""
        return self.process.poll() is not None and not any(r.is_alive() for r in self._readers)

    def take_output(self) -> str:
        """What it has printed since this was last asked."""
        with self._lock:
            text = "".join(self._said)
            self._said, self._size = [], 0
        return text

    def end(self) -> int:
        """Kill it with everything it started; its exit status. May be called twice."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for reader, stream in zip(self._readers, (self.process.stdout, self.process.stderr), strict=True):
            reader.join(END_S)
            if stream is not None and not reader.is_alive():
                stream.close()
        return self.process.returncode

    def _follow(self, stream: object, heard: Callable[[str], None] | None) -> None:
        assert hasattr(stream, "readline")
        while line := stream.readline(MAX_OUTPUT):
            text = line.decode("utf-8", "replace")
            if heard is not None:
                heard(text)
            with self._lock:
                self._said.append(text)
                self._size += len(text)
                while self._size > MAX_OUTPUT and len(self._said) > 2:
                    # The middle goes: the beginning says what was set up, the end what came of it.
                    self._size -= len(self._said.pop(len(self._said) // 2))


def _system() -> list[str]:
    prefix = Path(sys.prefix) / "bin"
    base = Path(sys.base_prefix)
    shared = [str(base / "bin"), str(prefix), str(Path(sysconfig.get_config_var("LIBDIR") or base / "lib"))]
    node = shutil.which("node")
    found = ["/usr", "/bin", "/sbin", "/lib", "/lib64", *shared, *(map(str, _of_program(Path(node))) if node else ())]
    return [p for p in dict.fromkeys(found) if p not in {"/", str(Path.home())}]


def _of_program(program: Path) -> list[Path]:
    """The program, and where it really lies: its package's `node_modules`, or its file alone."""
    real = program.resolve()
    tops = [p for p in real.parents if p.name == "node_modules"]
    return [program, real, *tops[-1:]]
