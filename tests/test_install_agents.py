"""`make install` puts OpenCode where the tests find it, and goes on in any case where it can't."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "install_agents.py"


@pytest.fixture
def agents():
    spec = importlib.util.spec_from_file_location("install_agents", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def npm(tmp_path):
    """`npm(body)`: an environment whose npm is this shell script."""

    def make(body):
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "npm").write_text(f"#!/bin/sh\n{body}\n")
        (folder / "npm").chmod(0o755)
        return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}

    return make


def installs(version):
    return (
        'mkdir -p "$3/node_modules/.bin"\n'
        f'printf "#!/bin/sh\\necho {version}\\n" > "$3/node_modules/.bin/opencode"\n'
        'chmod +x "$3/node_modules/.bin/opencode"\necho "$@" >> "$3/calls"'
    )


def test_the_pinned_version_is_installed_once(agents, npm, tmp_path):
    env = npm(installs(agents.VERSION))
    folder = tmp_path / "agents"
    assert "installed for the tests" in agents.install(folder, env=env)
    assert "is there" in agents.install(folder, env=env)
    (call,) = (folder / "calls").read_text().splitlines()
    assert call.startswith(f"install --prefix {folder} ")
    assert call.endswith(f"opencode-ai@{agents.VERSION}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('echo "npm error network ENOTFOUND" >&2; exit 1', "npm failed with exit code 1: npm error network ENOTFOUND"),
        (installs("0.0.1"), "does not start: 0.0.1"),
        ("exit 0", "does not start"),
    ],
    ids=["no registry", "another version", "nothing installed"],
)
def test_what_fails_is_said_and_tried_again_next_time(agents, npm, tmp_path, body, said):
    env = npm(body)
    for _ in range(2):
        text = agents.install(tmp_path / "agents", env=env)
        assert said in text
        assert "will be skipped" in text


def test_a_registry_that_hangs_is_given_up_with_all_that_was_started(agents, npm, tmp_path):
    env = npm(f'sleep 300 & echo $! > "{tmp_path}/pid"; wait')
    began = time.monotonic()
    assert "did not end within 0.5 s" in agents.install(tmp_path / "agents", limit_s=0.5, env=env)
    assert time.monotonic() - began < 10
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_without_npm_or_a_place_to_write_the_exit_code_is_still_zero(tmp_path):
    (tmp_path / "file").touch()
    for env, said in (({"PATH": str(tmp_path)}, "there is no npm"), (dict(os.environ), "skipped")):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(tmp_path / "file" / "agents")],
            env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
