"""`kgb list` and `kgb show`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgb_gym import operators

THIRTEEN = {
    *(f"aten/{n}" for n in ("softmax", "cos", "add", "add_", "mm", "sum", "bernoulli", "t")),
    *(f"vllm/{n}" for n in ("rms_norm", "reshape_and_cache")),
    *(f"cublas/{n}" for n in ("Sgemm_v2", "Saxpy_v2", "CgemmStridedBatched")),
}


def test_the_list_has_all_operators_in_catalogue_order(kgb):
    done = kgb("list", "--json")
    names = [entry["name"] for entry in done.json]
    assert names == list(operators.names())
    assert set(names) >= THIRTEEN
    assert done.code == 0


def test_an_entry_says_what_the_design_promises(kgb):
    (entry,) = (e for e in kgb("list", "--json").json if e["name"] == "aten/softmax")
    softmax = operators.get("aten/softmax")
    assert entry["source"] == "aten"
    assert entry["env_id"] == "kgb/aten-softmax-v0"
    assert entry["interfaces"] == ["softmax.int", "softmax.int_out"]
    assert entry["k"] == {suite: softmax.counts(suite)["k"] for suite in operators.SUITES}
    assert entry["k_beyond"]["wide"] > 0 == entry["k_beyond"]["quick"]


@pytest.mark.parametrize("source", ["aten", "vllm", "cublas"])
def test_one_source(kgb, source):
    assert {e["source"] for e in kgb("list", "--source", source, "--json").json} == {source}


def test_the_table_names_every_operator(kgb):
    out = kgb("list").out
    assert all(name in out for name in THIRTEEN)


def test_a_second_list_needs_no_torch(tmp_path):
    code = (
        "import sys; sys.argv = ['kgb', 'list', '--json']\n"
        "from kgb_gym.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('torch' in sys.modules, file=sys.stderr)"
    )
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=120)
        for _ in range(2)
    ]
    assert [run.stderr.strip() for run in runs] == ["True", "False"]
    assert runs[0].stdout == runs[1].stdout


def test_a_changed_declaration_is_noticed(monkeypatch, tmp_path):
    from kgb_gym.cli import catalogue

    before = catalogue._digest()
    root = tmp_path / "kgb_gym" / "cli"
    root.mkdir(parents=True)
    (tmp_path / "kgb_gym" / "operators").mkdir()
    (tmp_path / "kgb_gym" / "operators" / "cos.py").write_text("K = 1")
    monkeypatch.setattr(catalogue, "__file__", str(root / "catalogue.py"))
    changed = catalogue._digest()
    (tmp_path / "kgb_gym" / "operators" / "cos.py").write_text("K = 2")
    assert len({before, changed, catalogue._digest()}) == 3


def test_a_broken_cache_is_made_anew(kgb, tmp_path, monkeypatch):
    from kgb_gym.cli import catalogue

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    whole = kgb("list", "--json").json
    (path,) = Path(tmp_path).rglob("*.json")
    path.write_text("[{")
    assert catalogue.entries() == whole


def test_a_cache_that_cannot_be_written_costs_only_time(kgb, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(kgb("list", "--json").json) >= 13


@pytest.mark.parametrize("name", sorted(THIRTEEN))
def test_show_tells_of_each(kgb, name):
    found = kgb("show", name, "--json").json
    operator = operators.get(name)
    assert found["name"] == name
    assert [i["name"] for i in found["interfaces"]] == [i.name for i in operator.interfaces]
    assert all(i["signature"].startswith(f"def {i['function']}(") for i in found["interfaces"])
    text = kgb("show", name).out
    assert all(i["function"] in text for i in found["interfaces"])


@pytest.mark.parametrize("spelling", ["aten::softmax", "kgb/aten-softmax-v0", "aten/softmax"])
def test_other_spellings(kgb, spelling):
    assert kgb("show", spelling, "--json").json["name"] == "aten/softmax"


def test_the_papers_spelling_of_a_blas_routine(kgb):
    assert kgb("show", "cublas::cublasSgemm_v2", "--json").json["name"] == "cublas/Sgemm_v2"


def test_the_prompt_is_printed_as_it_is(kgb):
    from kgb_gym import prompts

    operator = operators.get("aten/cos")
    assert (
        kgb("show", "aten/cos", "--prompt", "--platform", "cpu").out.strip() == prompts.render(operator, "cpu").strip()
    )
    agentic = kgb("show", "aten/cos", "--agentic", "--platform", "cpu").out
    assert "read_spec" in agentic
    assert operators.gold_source("aten/cos") not in agentic


def test_cases(kgb):
    lines = kgb("show", "aten/cos", "--cases", "--suite", "smoke").out.splitlines()
    wanted = [case.id for case in operators.get("aten/cos").cases("smoke")]
    assert [line.split("\t")[0] for line in lines] == wanted
    found = kgb("show", "aten/cos", "--cases", "--suite", "smoke", "--json").json
    assert [case["case"] for case in found["cases"]] == wanted


def test_what_is_beyond_a_clean_pass_is_in_wide(kgb):
    wide, quick = (kgb("show", "aten/cos", "--cases", "--suite", s, "--json").json["cases"] for s in ("wide", "quick"))
    assert {c["case"] for c in wide if c["origin"] != "beyond"} == {c["case"] for c in quick}
    types = {c["params"]["dtype"] for c in wide if c["origin"] == "beyond"}
    assert types == {"float64", "int32", "int64", "bool", "float32"}
    assert " beyond" in kgb("show", "aten/cos").out


def test_no_hidden_case_is_shown(kgb):
    cases = kgb("show", "aten/softmax", "--cases", "--json").json["cases"]
    assert {case["origin"] for case in cases} <= {"paper", "extra"}
