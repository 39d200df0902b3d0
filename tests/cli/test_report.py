"""`kgb run`, `report`, `recover` and `publish` as they follow one another."""

import json
import sys

import pytest

from kgb_gym.cli import main

RUN = ("run", "--method", "gold", "--operators", "aten/t,aten/cos", "--suite", "smoke", "--platform", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two gold kernels."""
    out = tmp_path_factory.mktemp("cli") / "run"
    before, sys.argv = sys.argv, ["kgb", *RUN, "--out", str(out)]
    try:
        main()
    except SystemExit as done:
        assert done.code == 0
    finally:
        sys.argv = before
    return out


def test_a_run_again_resumes_and_says_so(kgb, folder):
    done = kgb(*RUN, "--out", folder, "--json")
    assert done.code == 0
    assert done.json["resumed"] == done.json["episodes"] == 2
    assert "2 of 2 episodes were finished before" in done.err
    text = kgb(*RUN, "--out", folder)
    assert "2 of 2 episodes, 2 clean" in text.out


def test_another_configuration_is_wrong_use_and_the_difference_is_shown(kgb, folder):
    done = kgb(*RUN, "--out", folder, "--seed", "3")
    assert done.code == 2
    assert "seed: recorded 0, given 3" in done.err


def test_scripted_episodes_are_left_out_unless_asked_for(kgb, folder):
    assert "--include-synthetic counts scripted ones" in kgb("report", folder).out
    assert kgb("report", folder, "--json").json["groups"] == []
    done = kgb("report", folder, "--include-synthetic")
    assert done.code == 0
    assert "clean pass rate" in done.out
    assert "2 of 2 episodes are synthetic" in done.out
    assert "fast_p" not in done.out, "nothing was timed, so no speed is shown"


def test_the_json_has_the_metrics(kgb, folder):
    (group,) = kgb("report", folder, "--include-synthetic", "--json").json["groups"]
    assert group["key"]["method"] == "gold"
    assert group["summaries"]["overall"]["clean_pass_rate"] == 1.0
    assert group["summaries"]["overall"]["speedup"] is None


def test_the_same_folder_twice_counts_once(kgb, folder):
    (group,) = kgb("report", folder, f"{folder}/", "--include-synthetic", "--json").json["groups"]
    assert group["summaries"]["overall"]["attempted"] == 2


def test_the_papers_rows_stand_beside_ours(kgb, folder):
    out = kgb("report", folder, "--include-synthetic", "--paper-tables").out
    assert "paper: " in out
    assert "Table 13" in out


def test_the_page_is_one_file(kgb, folder, tmp_path):
    page = tmp_path / "deep" / "page.html"
    done = kgb("report", folder, "--include-synthetic", "--html", page, "--json")
    assert done.code == 0
    assert json.loads(done.out)
    text = page.read_text()
    assert "aten/cos" in text
    assert "<script src=" not in text and '<link rel="stylesheet"' not in text
    assert kgb("report", folder, "--html", tmp_path).code == 2


def test_recover_of_a_finished_run_does_nothing(kgb, folder):
    assert kgb("recover", folder, "--json").json == {"steps": 0, "episodes": 0, "journals": 0, "live": 0}
    assert "0 steps and 0 episodes recovered" in kgb("recover", folder).out


def test_publish_to_a_folder(kgb, folder, tmp_path):
    target = tmp_path / "published"
    done = kgb("publish", folder, "--to", target, "--json")
    assert done.code == 0
    assert (done.json["steps"], done.json["episodes"]) == (2, 2)
    assert json.loads((target / "metrics.json").read_text())["synthetic_left_out"] == 2
    assert "\nlicense: apache-2.0\n" in (target / "README.md").read_text()
    again = kgb("publish", folder, "--to", target)
    assert again.code == 2
    assert "choose another" in again.err


def test_a_run_with_failures_has_exit_code_1(kgb, tmp_path):
    """Nothing can be verified within a millisecond: the episode ends, recorded, without a clean pass."""
    done = kgb(*RUN, "--out", tmp_path / "run", "--time-limit", "0.001", "--json")
    assert done.code == 1
    assert done.json["clean"] == 0
    assert done.json["complete"]


def test_doctor(kgb):
    done = kgb("doctor", "--json")
    assert done.code == 0
    assert done.json["ok"] is True
    assert {"landlock", "seccomp", "torch"} <= {check["name"] for check in done.json["checks"]}
    assert kgb("doctor").code == 0
