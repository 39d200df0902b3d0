import os
import time
from concurrent.futures import Future

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env

from kgb_gym.envs.actions import InvalidAction
from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.reward import RewardConfig
from kgb_gym.operators import names
from kgb_gym.verdict import Status, Verdict
from kgb_gym.verification.protocols import Limits


def test_an_episode(make, submit, call, engine):
    env = make()
    observation, info = env.reset(seed=0)
    assert info["operator"] == "aten/add"
    assert observation["message"].startswith(observation["prompt"].rstrip())
    assert (observation["stage"], observation["status"]) == ("", "")
    total = 0.0
    for action, status in [
        (submit("mismatch 1/4"), "mismatch"), (submit("hack"), "hack"), (submit("passed", finish=True), "passed"),
    ]:  # fmt: skip
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert observation["status"] == status
        assert isinstance(reward, float)
        assert reward == pytest.approx(sum(info["reward_terms"].values()))
        total += reward
    assert terminated
    assert not truncated
    assert info["clean"]
    assert total == pytest.approx(info["score"])
    tokens = 1.3 - 0.5 - total
    assert 0 < tokens < 0.01
    with pytest.raises(ResetNeeded):
        env.step(submit("passed"))


def test_step_needs_reset(make, submit):
    with pytest.raises(ResetNeeded):
        make().unwrapped.step(submit("passed"))


def test_the_job(make, submit, engine):
    limits = Limits(correctness_s=7)
    env = make(suite="smoke", limits=limits)
    env.reset(seed=4)
    env.step(submit("passed é"))
    (job,) = engine.jobs
    assert (job.operator, job.suite, job.platform, job.kind) == ("aten/add", "smoke", "cpu", "verify")
    assert job.source == "passed é".encode()
    assert job.limits == limits
    assert not job.timing


def test_seeds_derive_from_the_env_s_and_the_source(make, submit, engine):
    env = make()
    for seed in (1, 1, 2):
        env.reset(seed=seed)
        env.step(submit("passed"))
        env.step(submit("passed again"))
    seeds = [j.seed for j in engine.jobs]
    assert seeds[0] == seeds[2] != seeds[4]
    assert len(set(seeds)) == 4
    assert all(0 <= s < 1 << 63 for s in seeds)


def test_no_seed_and_no_clock_in_what_is_returned(make, submit, engine):
    env = make()
    observation, reset_info = env.reset(seed=77)
    observation, _, _, _, info = env.step(submit("mismatch 1/4"))
    text = repr((observation, info, reset_info))
    assert str(engine.jobs[0].seed) not in text
    assert info["verdict"].durations == {}


def test_the_same_source_gets_its_first_verdict_back(make, submit, engine):
    env = make()
    env.reset(seed=0)
    _, _, _, _, first = env.step(submit("mismatch 2/4"))
    observation, _, _, _, second = env.step(submit("mismatch 2/4"))
    assert len(engine.jobs) == 1
    assert second["verdict"] == first["verdict"]
    assert second["submission"] == 2
    assert second["reward_terms"]["potential"] == 0
    assert "judged before" in observation["message"]
    env.reset()
    env.step(submit("mismatch 2/4"))
    assert len(engine.jobs) == 2


def test_our_failure_is_unscored_and_may_be_tried_again(make, submit, fake_engine, verdict):
    answers = [Status.HARNESS_ERROR, Status.PASSED]
    env = make(engine=fake_engine(lambda job: verdict(answers.pop(0), job=job)))
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(submit("x", {"prompt_tokens": 100_000}))
    assert (reward, info["reward_valid"], info["score"]) == (0.0, False, 0.0)
    assert observation["submissions_left"] == Budgets().max_submissions
    assert not terminated
    _, reward, _, _, info = env.step(submit("x"))
    assert info["reward_valid"]
    assert info["clean"]


@pytest.mark.parametrize("where", ["submit", "future"])
def test_a_broken_engine_does_not_lose_the_episode(make, submit, where):
    class Broken:
        def submit(self, job):
            if where == "submit":
                raise OSError("no more processes")
            future: Future[Verdict] = Future()
            future.set_exception(RuntimeError("lost"))
            return future

    env = make(engine=Broken())
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(submit("x"))
    assert (observation["status"], reward, info["reward_valid"], terminated) == ("harness_error", 0.0, False, False)


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ({"kind": 0, "code": 5}, "code must be text"),
        ({"kind": 1, "tool": "shell"}, "There is no tool 'shell'"),
        ({"kind": 1, "tool": "run"}, "run needs code"),
        ({"kind": 1, "tool": "test"}, "test needs code"),
        ({"kind": 1, "tool": "test", "arguments": '{"code": "x", "case": []}'}, "no argument 'case'"),
        ({"kind": 1, "tool": "test", "arguments": '{"code": 3}'}, "code must be a string"),
        ({"kind": 1, "tool": "test", "arguments": '{"code": "x", "cases": "all"}'}, "cases must be a list"),
        ({"kind": 1, "tool": "test", "arguments": '{"code": "x", "cases": ["zzz"]}'}, "no case matches 'zzz'"),
        ({"kind": 1, "tool": "compile", "arguments": '{"code": "x", "targets": ["sm_1"]}'}, "must be one of"),
        ({"kind": 1, "tool": "read_spec", "arguments": '{"what": "gold"}'}, "must be one of"),
    ],
)
def test_a_bad_action_costs_a_turn_and_is_explained(make, engine, action, error):
    env = make()
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert error in observation["message"]
    assert error in info["error"]
    assert observation in env.observation_space
    assert observation["turns_left"] == Budgets().max_turns - 1
    assert observation["submissions_left"] == Budgets().max_submissions
    assert not (terminated or truncated or engine.jobs)
    assert -0.01 < reward <= 0


def test_what_is_no_action_raises_and_the_episode_goes_on(make, submit):
    env = make().unwrapped
    env.reset(seed=0)
    for thing in (None, "code", {}):
        with pytest.raises(InvalidAction):
            env.step(thing)
    _, _, _, _, info = env.step(submit("passed"))
    assert info["turn"] == 1


def test_tools(make, call, engine):
    env = make()
    env.reset(seed=0)
    observation, *_ = env.step(call("test", code="mismatch 1/4", cases=["add.Tensor[*float16*"]))
    assert engine.jobs[-1].kind == "test"
    assert engine.jobs[-1].cases
    assert all(c.startswith("add.Tensor[") and "float16" in c for c in engine.jobs[-1].cases)
    assert "Tool `test`: mismatch" in observation["message"]
    env.step(call("test", code="passed"))
    assert engine.jobs[-1].cases == ()
    env.step(call("compile", code="compile_error"))
    assert (engine.jobs[-1].kind, engine.jobs[-1].targets) == ("compile", ("cuda:90",))
    env.step(call("compile", code="passed", targets=["sm_80", "gfx942"]))
    assert engine.jobs[-1].targets == ("cuda:80", "hip:gfx942")
    observation, *_ = env.step(call("read_spec"))
    assert "aten::add.Tensor(Tensor self" in observation["message"]
    observation, *_ = env.step(call("read_spec", what="cases"))
    assert "add.out[" in observation["message"]
    observation, _, terminated, _, info = env.step(call("finish"))
    assert terminated
    assert (info["submission"], info["clean"], info["score"] <= 0) == (0, False, True)


def test_a_case_id_chooses_exactly_that_case(make, call, engine):
    env = make()
    env.reset(seed=0)
    ids = env.step(call("read_spec", what="cases"))[0]["message"].splitlines()[:3]
    env.step(call("test", code="passed", cases=ids))
    assert engine.jobs[-1].cases == tuple(ids)


def test_submissions_end_an_episode(make, submit):
    env = make(budgets=Budgets(max_submissions=2))
    env.reset(seed=0)
    assert env.step(submit("hack"))[2:4] == (False, False)
    assert env.step(submit("hack"))[2:4] == (True, False)


def test_a_clean_pass_ends_it_where_that_is_asked_for(make, submit):
    env = make(budgets=Budgets(stop_on_clean=True))
    env.reset(seed=0)
    assert env.step(submit("mismatch 1/4"))[2:4] == (False, False)
    assert env.step(submit("passed"))[2:4] == (True, False)


def test_turns_truncate(make, call):
    env = make(budgets=Budgets(max_turns=2))
    env.reset(seed=0)
    assert env.step(call("nope"))[2:4] == (False, False)
    observation, _, terminated, truncated, _ = env.step(call("nope"))
    assert (terminated, truncated) == (False, True)
    assert "budget is used up" in observation["message"]


def test_tokens_truncate(make, submit):
    env = make(budgets=Budgets(max_tokens=5000))
    env.reset(seed=0)
    observation, _, terminated, truncated, info = env.step(submit("hack", {"completion_tokens": 6000}))
    assert (terminated, truncated, observation["tokens_left"]) == (False, True, 0)
    assert (info["tokens"], info["tokens_source"]) == (6000, "reported")


def test_the_wall_clock_truncates_and_nothing_is_verified_late(make, submit, engine):
    env = make(budgets=Budgets(wall_s=0.05))
    env.reset(seed=0)
    time.sleep(0.1)
    observation, _, terminated, truncated, _ = env.step(submit("passed"))
    assert (terminated, truncated) == (False, True)
    assert "wall-clock" in observation["message"]
    assert not engine.jobs


@pytest.mark.parametrize("fields", [{"max_turns": 0}, {"max_submissions": 0}, {"max_tokens": 0}, {"wall_s": 0}])
def test_impossible_budgets(fields):
    with pytest.raises(ValueError, match=next(iter(fields))):
        Budgets(**fields)


def test_reporting_too_few_tokens_gains_nothing(make, submit):
    env = make()
    observation, _ = env.reset(seed=0)
    _, _, _, _, info = env.step(submit("mismatch 1/4", {"prompt_tokens": 1, "completion_tokens": 1}))
    assert info["tokens_source"] == "reported"
    assert info["tokens"] > len(observation["prompt"]) / 10
    _, _, _, _, info = env.step(submit("mismatch 2/4"))
    assert info["tokens_source"] == "counted"


def test_sets_draw_an_operator(make):
    env = make("kgb/ms-v0")
    drawn = [env.reset(seed=s)[1]["operator"] for s in range(40)]
    assert drawn == [env.reset(seed=s)[1]["operator"] for s in range(40)]
    assert len(set(drawn)) > 3
    assert {n.partition("/")[0] for n in drawn} == {"aten", "vllm", "cublas"}
    assert make("kgb/mc-v0").unwrapped.pool.names == names("aten")


def test_an_operator_can_be_named(make):
    env = make("kgb/ms-v0")
    for name in ("vllm/rms_norm", "aten::add", "cublas::cublasSgemm_v2", "kgb/aten-add-v0"):
        env.reset(options={"operator": name})
    assert env.reset(options={"operator": "aten/add"}, seed=1)[1]["operator"] == "aten/add"


def test_naming_one_does_not_disturb_the_draws(make):
    env = make("kgb/ms-v0")
    env.reset(seed=3)
    plain = env.reset()[1]["operator"]
    env.reset(seed=3, options={"operator": "aten/add"})
    assert env.reset()[1]["operator"] == plain


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"operator": "vllm/rms_norm"}, "not among"),
        ({"operator": "aten/nothing"}, "no operator"),
        ({"reset_mask": 1}, "unknown reset options"),
        ({"record": {"odd": 1}}, "unknown odd"),
    ],
)
def test_wrong_options(make, options, error):
    env = make()
    with pytest.raises((ValueError, KeyError), match=error):
        env.reset(options=options)


def test_operators_narrow_the_pool(make):
    env = make("kgb/ms-v0", operators="vllm/*,aten/add")
    assert "aten/add" in env.unwrapped.pool.names
    assert not any(n.startswith("cublas") for n in env.unwrapped.pool.names)
    with pytest.raises(ValueError, match="no operator"):
        make("kgb/mc-v0", operators=["vllm/*"])


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"suite": "big"}, "unknown suite"), ({"platform": "abacus"}, "unknown platform"),
        ({"split": "dev"}, "unknown split"), ({"prompt": "short"}, "unknown prompt"),
    ],
)  # fmt: skip
def test_wrong_arguments(make, kwargs, error):
    with pytest.raises(ValueError, match=error):
        make(**kwargs)


def test_auto_is_quick_on_cpu_and_paper_on_nvidia(make):
    assert make().unwrapped.suite == "quick"
    assert make(platform="nvidia").unwrapped.suite == "paper"


def test_making_an_environment_starts_nothing():
    env = gymnasium.make("kgb/aten-add-v0", platform="cpu")
    before = set(os.listdir("/proc/self/task"))
    env.reset(seed=0)
    assert set(os.listdir("/proc/self/task")) == before
    env.close()


def test_a_spec_travels_as_json(make, engine):
    spec = gymnasium.make(
        "kgb/ms-v0", platform="cpu", budgets={"max_turns": 3}, reward={"clean": 2.0}, operators="aten/*"
    ).spec
    twin = gymnasium.envs.registration.EnvSpec.from_json(spec.to_json())
    env = gymnasium.make(twin)
    assert env.unwrapped.budgets == Budgets(max_turns=3)
    assert env.unwrapped.reward == RewardConfig(clean=2.0)
    env.close()


def test_copies_of_a_spec_share_the_engine(make, submit, engine):
    engine.lock = __import__("threading").Lock()  # such as real engines hold: it cannot be copied
    env = make()
    twin = env.spec.make()
    twin.reset(seed=0)
    twin.step(submit("passed"))
    assert len(engine.jobs) == 1
    twin.close()
    assert not engine.closed


def test_render(make, submit):
    env = make(render_mode="ansi")
    env.reset(seed=0)
    assert "aten/add" in env.render()
    env.step(submit("mismatch 1/4"))
    assert "mismatch" in env.render()
    silent = make()
    silent.reset(seed=0)
    assert silent.unwrapped.render() is None


def test_close_twice_and_no_reset_after_it(make):
    env = make().unwrapped
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()


def test_any_text_can_be_submitted(make, submit, engine):
    env = make(budgets=Budgets(max_submissions=50))
    env.reset(seed=0)
    for code in ("", "\ud800", "\x00", "é中🙂", "x" * (1 << 20)):
        observation, *_ = env.step(submit(code))
        assert observation["status"] == "syntax_error"
    with pytest.raises(UnicodeDecodeError):
        engine.jobs[1].source.decode()


def test_a_reset_is_quick(make):
    env = make().unwrapped
    env.reset(seed=0)
    start = time.perf_counter()
    for _ in range(50):
        env.reset()
    assert (time.perf_counter() - start) / 50 < 0.005


def test_observations_stay_inside_their_space(make, submit, fake_engine, verdict, case):
    huge = [case(i, passed=False, error="é" * 100_000) for i in range(300)]
    answer = lambda job: verdict(Status.MISMATCH, job=job, cases=tuple(huge), message="m" * (1 << 21))
    env = make(engine=fake_engine(answer))
    env.reset(seed=0)
    observation, *_ = env.step(submit("x"))
    assert observation in env.observation_space
    assert len(observation["message"]) < 60_000


def test_hidden_cases_are_not_described(make, submit, fake_engine, verdict, case):
    hidden = case(7, passed=False, origin="hidden")
    env = make(engine=fake_engine(lambda job: verdict(Status.MISMATCH, job=job, cases=(hidden,))))
    env.reset(seed=0)
    observation, *_ = env.step(submit("x"))
    assert "n=7" not in observation["message"]
    assert "hidden case" in observation["test_diff"]


def test_random_actions_are_deterministic(make, submit):
    env = make("kgb/ms-v0").unwrapped
    env.action_space.seed(0)
    for seed in range(30):
        action = env.action_space.sample()
        outcomes = []
        for _ in range(2):
            env.reset(seed=seed)
            outcomes.append(env.step(action))
        assert outcomes[0] == outcomes[1]
        assert np.isfinite(outcomes[0][1])


@pytest.mark.parametrize("env_id", ["kgb/ms-v0", "kgb/mc-v0", *(f"kgb/{n.replace('/', '-', 1)}-v0" for n in names())])
@pytest.mark.filterwarnings("error")
def test_gymnasium_s_check(make, env_id):
    check_env(make(env_id).unwrapped)
