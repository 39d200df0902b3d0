"""The seven traps of a package whose rooms are linked top-level folders, one of them named like a famous library."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("envs", "operators", "baselines", "datasets")
LEFT_OUT = (".git", ".venv", "out", "runs", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")


def python(code: str, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel of a copy of the tree, built without a network."""
    work = tmp_path_factory.mktemp("wheel")
    tree = work / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    # `runs` names a folder of results at the top, and a room inside the package.
    shutil.copytree(ROOT / "kgb_gym" / "runs", tree / "kgb_gym" / "runs", dirs_exist_ok=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(work / "out"), str(tree)], check=True, timeout=300)
    (built,) = (work / "out").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """The wheel installed into a folder of its own."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*command, str(wheel)], check=True, timeout=300)
    return target


def test_datasets_in_the_root_is_hugging_faces():
    found = python("import datasets; print(datasets.load_dataset.__module__, datasets.__file__)", cwd=ROOT)
    module, file = found.split(" ", 1)
    assert module.startswith("datasets.")
    assert not Path(file).resolve().is_relative_to(ROOT / "datasets")


def test_our_datasets_room_has_no_init_so_that_it_never_shadows_the_library():
    assert not (ROOT / "datasets" / "__init__.py").exists()
    for room in ("kgb_gym", "envs", "operators", "baselines"):
        assert (ROOT / room / "__init__.py").is_file(), room


def test_hugging_faces_library_is_imported_by_name_so_that_its_absence_is_an_error():
    """`import datasets` would give an empty namespace in the root where the library is not installed."""
    bare = re.compile(r"^\s*import datasets\b", re.MULTILINE)
    files = [p for top in ("kgb_gym", *LINKED, "examples", "benchmarks") for p in (ROOT / top).rglob("*.py")]
    offenders = [str(p.relative_to(ROOT)) for p in files if bare.search(p.read_text(encoding="utf-8"))]
    assert offenders == []


@pytest.mark.parametrize("name", LINKED)
def test_the_rooms_are_relative_links(name):
    link = ROOT / "kgb_gym" / name
    assert link.is_symlink()
    assert os.readlink(link) == f"../{name}"


@pytest.mark.parametrize("room", ["envs", "operators", "baselines"])
def test_the_linter_bans_the_second_module_object(room, tmp_path):
    (tmp_path / "offender.py").write_text(f"import {room}\n\nprint({room})\n")
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "check", "--config", str(ROOT / "pyproject.toml"), "--output-format", "json", "--no-cache"]
    done = subprocess.run([*command, str(tmp_path)], check=False, capture_output=True, text=True, timeout=60)
    assert "TID251" in {found["code"] for found in json.loads(done.stdout)}


def test_coverage_names_all_five_trees():
    with open(ROOT / "pyproject.toml", "rb") as file:
        source = tomllib.load(file)["tool"]["coverage"]["run"]["source"]
    assert set(source) == {"kgb_gym", *LINKED}


def test_the_wheel_holds_kgb_gym_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"kgb_gym"}
    assert not [n for n in names if "/tests/" in n or n.endswith(".pyc")]


def test_the_wheel_has_every_module_and_every_data_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = {
        Path("kgb_gym", *([] if top == "kgb_gym" else [top]), path.relative_to(ROOT / top)).as_posix()
        for top in ("kgb_gym", *LINKED)
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith((".md", ".pyc"))
    }
    assert tracked - names == set()
    assert any("/gold/" in name for name in names), "no gold kernels"
    assert any("/prompts/templates/" in name for name in names), "no prompt templates"
    assert "kgb_gym/py.typed" in names


def test_an_installed_wheel_works_away_from_the_checkout(site, tmp_path):
    code = (
        "import kgb_gym, kgb_gym.operators as o, kgb_gym.datasets.schema, kgb_gym.envs, kgb_gym.baselines;"
        "print(kgb_gym.__file__); print(len(o.gold_source('aten/softmax')), len(o.names()))"
    )
    file, counts = python(code, cwd=tmp_path, PYTHONPATH=str(site)).splitlines()
    assert Path(file).is_relative_to(site)
    assert all(int(count) > 0 for count in counts.split())


def test_a_stranger_finds_only_kgb_gym(site):
    installed = {p.name for p in site.iterdir() if not p.name.endswith(".dist-info") and p.name != "bin"}
    assert installed == {"kgb_gym"}


def test_gold_kernels_parse():
    gold = sorted((ROOT / "operators").glob("*/gold/*.py"))
    assert gold
    for path in gold:
        ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_constraints_pin_every_direct_dependency():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {re.split(r"[<>=!~ ;\[]", each)[0].lower() for each in wanted} - {project["name"]} <= pinned


@pytest.mark.parametrize("name", ["README.md", "Makefile", "Dockerfile", "pyproject.toml", "CONTRIBUTING.md"])
def test_no_registry_and_no_machine_path(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"pypi\.org|pythonhosted|download\.pytorch\.org|/home/|/root/|/work/|/opt/wheels", text)
