"""The tools `run` and `profile`, with the real judge: what a policy is shown, and that nothing is paid for it."""

import gymnasium
import pytest

import kgb_gym
from kgb_gym.operators import gold_source
from kgb_gym.sandbox import shared_engine
from kgb_gym.verdict import Profile, Stage, Status, Verdict
from kgb_gym.verification import telling

NAME = "cublas/Sscal_v2"


@pytest.fixture
def env():
    made = gymnasium.make("kgb/cublas-Sscal_v2-v0", suite="smoke", platform="cpu", engine=shared_engine("cpu"))
    made.reset(seed=1)
    yield made
    made.close()


def test_run_shows_launches_and_outputs_of_one_case(env):
    action = kgb_gym.call("run", code=gold_source(NAME), case="*n=33*")
    observation, reward, terminated, _, info = env.step(action)
    verdict = info["verdict"]
    assert (verdict.kind, verdict.status, verdict.stage, verdict.clean) == ("run", "passed", "correct", False)
    (case,) = verdict.cases
    assert "n=33" in case.case
    assert (case.launches, case.timing) == (1, None)
    head, launch, output = verdict.report
    assert head.endswith(": 1 launches")
    assert launch.startswith("  scal_kernel on 1x1x1 programs, x float32 ")
    assert "BLOCK=256" in launch
    assert output.startswith("  x: float32 ") and "expected [" in output
    assert all(line in observation["message"] for line in verdict.report)
    assert (terminated, info["submission"]) == (False, 0)
    assert -0.01 < reward <= 0


def test_run_of_a_wrong_module_shows_both_sides(env):
    wrong = gold_source(NAME).replace("alpha * tl.load", "2.0 * tl.load")
    observation, _, _, _, info = env.step(kgb_gym.call("run", code=wrong))
    verdict = info["verdict"]
    assert (verdict.status, len(verdict.cases)) == ("mismatch", 1)
    shown = verdict.report[-1].partition("[")[2]
    got, _, wanted = shown.partition("], expected [")
    assert got.split(",")[0] != wanted.split(",")[0]
    assert verdict.report[-1] in observation["message"]


def test_profile_shows_what_kernels_are_made_of(env):
    observation, reward, _, _, info = env.step(kgb_gym.call("profile", code=gold_source(NAME)))
    verdict = info["verdict"]
    assert (verdict.kind, verdict.status, verdict.clean) == ("profile", "passed", False)
    assert len(verdict.cases) == 2
    assert sum("scal_kernel on" in line for line in verdict.report) == 2
    (target,) = verdict.targets
    (code,) = target.kernels
    assert code.function == "scal_kernel"
    assert 8 <= code.registers <= 255
    assert f"scal_kernel {code.registers} registers, 0 bytes spilled" in observation["message"]
    assert reward <= 0


def test_wrong_calls_are_told_and_nothing_runs(env):
    for action, said in (
        (kgb_gym.call("run", code="x", case="nosuch*"), "run: no case matches 'nosuch*'"),
        (kgb_gym.call("profile", code="x", cases=["nosuch"]), "profile: no case matches 'nosuch'"),
        (kgb_gym.call("run", code="x", cases=["*"]), "run has no argument 'cases'"),
        (kgb_gym.call("run", case="*"), "run needs code"),
    ):
        info = env.step(action)[4]
        assert said in info["error"]
        assert info["verdict"] is None
    info = env.step(kgb_gym.call("run", code="def f(:"))[4]
    assert info["verdict"].status == "syntax_error"
    assert info["verdict"].report == ()


def test_reports_are_bounded_and_travel():
    from kgb_gym.envs.observation import MAX_DETAIL, describe

    report = telling.bounded(["x" * 1000] * 500)
    assert len(report) == telling.MAX_LINES + 1
    assert report[-1] == "… and 440 lines more"
    seen = Profile("f[n=4]", "profiler", 0.75, ("kernel",), ("memset",))
    verdict = Verdict(
        operator="aten/cos", source_sha256="", suite="smoke", platform="nvidia", stage=Stage.CORRECT,
        status=Status.PASSED, kind="profile", report=report, profile=seen,
    )  # fmt: skip
    assert Verdict.from_json(verdict.to_json()) == verdict
    text = describe(verdict, "Tool `profile`")
    assert len(text) < MAX_DETAIL + 500
    assert "own kernels kernel; their share 75%" in text


SCRIPT = """
import torch
import kernel
x = torch.arange(5.0)
kernel.cublasSscal_v2(5, 3.0, x, 1)
print("scaled", x.tolist())
"""


def script(env, text):
    observation, reward, terminated, _, info = env.step(kgb_gym.call("run", code=gold_source(NAME), script=text))
    assert (terminated, info["submission"], reward <= 0) == (False, 0, True)
    return observation["message"], info["verdict"]


def test_a_script_of_ones_own_runs_beside_the_kernel(env):
    message, verdict = script(env, SCRIPT)
    assert (verdict.kind, verdict.status, verdict.stage) == ("run", "passed", "loaded")
    assert (verdict.clean, verdict.cases) == (False, ())
    assert verdict.report == ("scaled [0.0, 3.0, 6.0, 9.0, 12.0]",)
    assert verdict.report[0] in message


def test_what_a_script_printed_before_it_failed_is_shown(env):
    message, verdict = script(env, "print('so far')\nraise ValueError('no further')\n")
    assert (verdict.status, verdict.report) == ("runtime_error", ("so far",))
    assert "so far" in message
    assert "line 2" in verdict.message
    assert "ValueError: no further" in verdict.message


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("import sys; sys.exit(3)", "runtime_error", "SystemExit: 3"),
        ("import os; os._exit(4)", "crash", "exit status 4"),
        ("(", "runtime_error", "SyntaxError"),
        ("import socket; socket.socket()", "runtime_error", "PermissionError"),
        ("import kgb_gym; open(kgb_gym.__file__).read()", "runtime_error", "PermissionError"),
        ("import subprocess; subprocess.run(['true'])", "runtime_error", "Error"),
        ("print('x' * 200_000)", "passed", "ran to its end"),
    ],
    ids=["status", "exit", "syntax", "network", "project", "programs", "flood"],
)
def test_a_script_stays_within_the_fences(env, text, status, said):
    message, verdict = script(env, text)
    assert verdict.status == status, verdict.message
    assert said in verdict.message
    assert len(message) < 20_000


def test_a_case_and_a_script_are_not_both(env):
    observation, _, _, _, info = env.step(kgb_gym.call("run", code=gold_source(NAME), case="*", script="1"))
    assert "a case or a script, not both" in observation["message"]
    assert info["verdict"] is None
