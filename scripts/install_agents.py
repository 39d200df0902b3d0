"""Installs the coding agents that the tests drive for real: `python scripts/install_agents.py FOLDER`.

OpenCode (MIT), a pinned version, from the npm registry that npm is configured for, into a folder of its own. Nothing
here may stop an installation: without npm, without a registry, or after the time limit it says what is missing, and the
tests that need the program are skipped visibly. The exit code is always 0.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PACKAGE, VERSION, COMMAND = "opencode-ai", "1.18.33", "opencode"
LIMIT_S = 120.0
"""Wall seconds for npm: a registry that does not answer must not hold up `make install`."""


def install(folder: Path, *, limit_s: float = LIMIT_S, env: Mapping[str, str] | None = None) -> str:
    """Install the pinned version into `folder/node_modules`, unless it is there; gives one sentence to print.

    Args:
        folder: is made if need be.
        limit_s: wall seconds for npm, which is then ended with all it started.
        env: the environment in which npm is looked for and run; by default ours.
    """
    env = os.environ if env is None else env
    marker = folder / f"{PACKAGE}-{VERSION}"
    program = folder / "node_modules" / ".bin" / COMMAND
    if marker.exists() and program.exists():
        return f"{PACKAGE} {VERSION} is there: {program}"
    npm = shutil.which("npm", path=env.get("PATH", ""))
    if npm is None:
        return _skipped("there is no npm on the PATH")
    folder.mkdir(parents=True, exist_ok=True)
    words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error",
             "--fetch-retries=1", f"{PACKAGE}@{VERSION}"]  # fmt: skip
    code, said = _run(words, limit_s, env)
    if code is None:
        return _skipped(f"npm did not end within {limit_s:g} s")
    if code != 0:
        return _skipped(f"npm failed with exit code {code}: {' '.join(said.split())[-300:]}")
    # The package's own script links the program; npm may have been told to run no scripts.
    code, said = _run([str(program), "--version"], 30.0, env)
    if code != 0 or VERSION not in said:
        return _skipped(f"the installed program does not start: {' '.join(said.split())[-300:]}")
    marker.touch()
    return f"{PACKAGE} {VERSION} installed for the tests: {program}"


def _skipped(reason: str) -> str:
    return f"{PACKAGE} {VERSION} skipped ({reason}): its end-to-end test will be skipped; nothing else needs it"


def _run(words: list[str], limit_s: float, env: Mapping[str, str]) -> tuple[int | None, str]:
    """Exit code (None: it did not end in time) and output."""
    try:
        process = subprocess.Popen(
            words, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        return 127, str(error)
    try:
        said, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, said


def main(words: list[str]) -> int:
    """Install, and say what came of it; always 0."""
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 0
    try:
        print(install(Path(words[0]).absolute()), flush=True)
    except OSError as error:
        print(_skipped(f"{error.strerror or error}"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
