"""Imports go downwards only, and the check that says so can fail."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def check_floors():
    spec = importlib.util.spec_from_file_location("check_floors", ROOT / "scripts" / "check_floors.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_floors"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["check_floors"]


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_nothing_imports_upwards(check_floors):
    assert [str(each) for each in check_floors.upward(ROOT)] == []


def test_every_module_has_a_floor(check_floors):
    rooms = {name for name, _ in check_floors.modules(ROOT)}
    assert {"kgb_gym.verdict", "kgb_gym.operators.catalog", "kgb_gym.cli"} <= rooms
    assert all(0 <= check_floors.floor(name) <= 7 for name in rooms)
    assert not any(".gold." in name for name in rooms)


@pytest.mark.parametrize(
    "statement",
    [
        "import kgb_gym.envs",
        "from kgb_gym import envs",
        "from kgb_gym.envs.env import KernelEnv",
        "from ..envs import env",
        "def f():\n    from kgb_gym.runs import plan",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kgb_gym.sandbox import LocalEngine",
        "import importlib\nimportlib.import_module('kgb_gym.report.page')",
        "import importlib\nname = 'x'\nimportlib.import_module(f'kgb_gym.baselines.{name}')",
        "import kgb_gym",
        "from kgb_gym import submit",
    ],
)
def test_an_upward_import_is_found(check_floors, tmp_path, statement):
    tree(tmp_path, {"kgb_gym/verification/judge.py": statement, "envs/env.py": "", "kgb_gym/runs/plan.py": ""})
    (found,) = check_floors.upward(tmp_path)
    assert found.module == "kgb_gym.verification.judge"
    assert found.line >= 1


@pytest.mark.parametrize(
    "statement",
    [
        "from kgb_gym.operators import get",
        "from kgb_gym import verdict",
        "from kgb_gym.verification.protocols import Job",
        "from . import protocols",
        "import datasets",
        "from datasets import Dataset",
    ],
)
def test_downward_level_and_foreign_imports_are_fine(check_floors, tmp_path, statement):
    tree(tmp_path, {"kgb_gym/verification/judge.py": statement, "kgb_gym/verification/protocols.py": ""})
    assert check_floors.upward(tmp_path) == []


def test_a_module_outside_the_rooms_is_refused(check_floors, tmp_path):
    tree(tmp_path, {"kgb_gym/odd.py": "import kgb_gym.verdict"})
    with pytest.raises(LookupError, match="in no room"):
        check_floors.upward(tmp_path)
