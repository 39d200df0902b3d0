"""`kgb verify` and `kgb compile`, with the real judge."""

import io
import json
import sys

import pytest

from kgb_gym.operators import gold_source
from kgb_gym.verdict import Verdict

COS = ("aten/cos", "--suite", "smoke", "--platform", "cpu")
GOLD = gold_source("aten/cos")
HACK = "import torch\n\n\ndef cos(self):\n    return torch.sin(self)\n\n\ndef cos_out(self, *, out):\n    return out\n"


@pytest.fixture
def verify(kgb, tmp_path):
    """Verifies a text against `aten/cos`, two cases an interface."""

    def call(text, *more):
        path = tmp_path / "submission.py"
        path.write_text(text)
        return kgb("verify", COS[0], path, *COS[1:], *more)

    return call


def test_a_right_kernel_passes(verify):
    done = verify(GOLD)
    assert done.code == 0, done.out + done.err
    assert "✓ clean pass" in done.out
    assert "aten/cos" in done.out


def test_json_is_one_verdict_and_nothing_else(verify):
    done = verify(GOLD, "--json")
    verdict = Verdict.from_dict(done.json)
    assert done.code == 0
    assert verdict.clean
    assert (verdict.operator, verdict.suite, verdict.platform) == ("aten/cos", "smoke", "cpu")
    assert {"status", "stage", "clean", "cases", "hacks"} <= set(done.json)


def test_nothing_that_a_submission_prints_reaches_the_json(verify):
    noisy = GOLD + "\n\nprint('{}')\n"
    assert Verdict.from_dict(json.loads(verify(noisy, "--json").out)).operator == "aten/cos"


def test_a_hack_fails_with_its_line(verify):
    done = verify(HACK)
    assert done.code == 1
    assert "✗ hack" in done.out
    assert "line 5" in done.out


def test_a_missing_interface_says_what_to_define(verify):
    done = verify("def cos(self):\n    return self\n")
    assert done.code == 1
    assert "missing_interface" in done.out
    assert "cos_out" in done.out
    assert "--only-defined" in done.out


def test_a_wrong_kernel_shows_where_and_by_how_much(verify):
    done = verify(GOLD.replace("tl.cos(x.to(tl.float32))", "tl.cos(x.to(tl.float32)) + 0.5"))
    assert done.code == 1
    assert "✗ mismatch" in done.out
    assert "✗ cos[" in done.out
    assert "expected" in done.out and "wrong, largest error 0.5 absolute" in " ".join(done.out.split())


def test_calling_the_operator_itself_is_named(verify):
    done = verify(HACK.replace("torch.sin", "torch.cos"))
    assert done.code == 1
    assert "✗ recursion" in done.out


def test_only_defined_is_never_a_clean_pass(verify):
    head = GOLD.partition("def cos_out")[0]
    done = verify(head, "--only-defined", "--json")
    verdict = Verdict.from_dict(done.json)
    assert done.code == 0, verdict.message
    assert verdict.only_defined
    assert not verdict.clean


def test_a_submission_from_standard_input(kgb, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"def cos(:\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = kgb("verify", COS[0], "-", *COS[1:], "--json")
    assert done.code == 1
    assert done.json["status"] == "syntax_error"


def test_the_seed_is_in_the_verdict(verify):
    assert verify(HACK, "--seed", "7", "--json").json["seed"] == 7


def test_compile_for_other_targets(kgb, tmp_path):
    path = tmp_path / "submission.py"
    path.write_text(GOLD)
    done = kgb("compile", "aten/cos", path, "--target", "sm_80", "--target", "gfx942", "--platform", "cpu", "--json")
    assert done.code == 0, done.out
    assert done.json["kind"] == "compile"
    assert set(done.json["compiled_for"]) == {"cuda:80", "hip:gfx942"}
    for target in done.json["targets"]:
        assert target["status"] == "passed" and target["variants"]
        (code, *_) = target["kernels"]
        assert (
            code["registers"] > 0 and code["instructions"]["store"] and code["shared_bytes"] <= target["shared_limit"]
        )
