"""What docs/adding-an-operator.md says, done: its two files are added to a copy of the package, and judged there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def copied(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, and in it the files of the page."""
    folder = tmp_path_factory.mktemp("adding")
    shutil.copytree(root / "kgb_gym", folder / "kgb_gym", ignore=shutil.ignore_patterns("__pycache__"))
    text = (root / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")
    files = re.findall(r"```python\n# (operators/\S+)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["operators/aten/exp2.py", "operators/aten/gold/exp2.py"]
    for name, body in files:
        (folder / "kgb_gym" / name).write_text(body, encoding="utf-8")
    return folder


def run(folder: Path, *command: str) -> str:
    """The output of Python with the copied package in front."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-P", *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:] or done.stdout[-2000:]
    return done.stdout


def test_it_is_listed_and_has_an_environment(copied: Path) -> None:
    entries = json.loads(run(copied, "-m", "kgb_gym", "list", "--json"))
    (entry,) = [e for e in entries if e["name"] == "aten/exp2"]
    assert entry["env_id"] == "kgb/aten-exp2-v0"
    assert entry["interfaces"] == ["exp2", "exp2.out"]
    assert entry["k"]["quick"] == 18


def test_its_gold_is_a_clean_pass(copied: Path) -> None:
    gold = str(copied / "kgb_gym/operators/aten/gold/exp2.py")
    verdict = json.loads(run(copied, "-m", "kgb_gym", "verify", "aten/exp2", gold, "--suite", "quick", "--json"))
    assert verdict["clean"], verdict["message"]


def test_its_grid_catches_every_canary(copied: Path) -> None:
    source = "from kgb_gym.operators import get; from kgb_gym.operators.canaries import survivors; " \
        "print([s for s in survivors(get('aten/exp2'), 'quick') if not s.exempt])"  # fmt: skip
    assert run(copied, "-c", source).strip() == "[]"
