"""What the README and the docs tell a newcomer to type, typed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """Commands of the console blocks, without their comments."""
    lines = [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+#.*", "", line) for line in lines]


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """A folder in which the README's commands run: the examples are there, and what they write stays out of the tree."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def typed(command: str, desk: Path) -> str:
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "KGB_PLATFORM": "cpu"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=desk,
        env=env,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_your_own_kernel_is_verified(desk):
    wanted = [c for c in commands(ROOT / "README.md") if c.startswith(("kgb show", "kgb verify"))]
    assert len(wanted) == 2
    shown = typed(wanted[0].replace("| less", "| cat"), desk)
    assert "def softmax_int(" in shown
    assert "✓ clean pass  aten/softmax" in typed(wanted[1], desk)


def test_the_examples_run(desk):
    out = typed("python examples/rl_loop.py out/loop", desk)
    assert "turn 0: mismatch" in out
    assert "turn 1: passed" in out
    assert "clean pass: True" in out
    assert "out/loop: 2 steps of 1 episodes" in typed("python examples/load_dataset.py out/loop", desk)


def test_the_readmes_python_runs_in_order(desk):
    """What the demo leaves is stood in for by the run that the README's other console block makes, in its short suite."""
    run, report = (c for c in commands(ROOT / "README.md") if c.startswith(("kgb run", "kgb report")))
    typed(f"{run} --suite smoke".replace("aten/*", "aten/t"), desk)
    typed(report, desk)
    assert (desk / "out" / "gold.html").stat().st_size > 10_000
    (desk / "out" / "demo").symlink_to("gold")
    for page in (ROOT / "README.md", ROOT / "docs" / "trajectories.md"):
        assert blocks(page, "python")
        for number, code in enumerate(blocks(page, "python")):
            script = desk / f"block_{number}.py"
            script.write_text(code)
            typed(f"python {script.name}", desk)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_and_link_exists(page):
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)", text) + re.findall(r"^\$ make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", targets, re.MULTILINE), f"make {target}"
    from kgb_gym.cli.app import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands}
    for command in re.findall(r"`kgb (\w+)", text) + re.findall(r"^\$ kgb (\w+)", text, re.MULTILINE):
        assert command in known, f"kgb {command}"
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?://)([^)#]+)", prose):
        assert (page.parent / link).exists(), link


def test_generated_parts_are_up_to_date():
    subprocess.run([sys.executable, str(ROOT / "scripts" / "write_docs.py"), "--check"], check=True, timeout=120)
