"""The environments with what really verifies: the local engine, on the smoke suite."""

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import kgb_gym
from kgb_gym.operators import gold_source
from kgb_gym.sandbox import LocalEngine

IDS = ["kgb/ms-v0", "kgb/mc-v0", "kgb/aten-softmax-v0", "kgb/vllm-rms_norm-v0", "kgb/cublas-Saxpy_v2-v0"]


@pytest.fixture(scope="module")
def real():
    with LocalEngine(workers=2) as engine:
        yield engine


@pytest.fixture
def softmax(real):
    env = gymnasium.make("kgb/aten-softmax-v0", engine=real, platform="cpu", suite="smoke")
    yield env
    env.close()


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.filterwarnings("error")
def test_gymnasium_s_check(real, env_id):
    env = gymnasium.make(env_id, engine=real, platform="cpu", suite="smoke").unwrapped
    check_env(env)
    env.close()


def test_random_submissions_repeat(real, softmax):
    space = softmax.action_space
    space.seed(1)
    for seed in range(6):
        action = {**space.sample(), "kind": 0}
        outcomes = []
        for _ in range(2):
            softmax.reset(seed=seed)
            outcomes.append(softmax.step(action))
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][0]["status"] in {"syntax_error", "missing_interface", "hack"}


def test_a_right_and_a_wrong_kernel_repeat(real, softmax):
    gold = gold_source("aten/softmax")
    wrong = gold.replace("tl.sum(e, axis=1)", "tl.max(e, axis=1)")
    assert wrong != gold
    for code, status in ((gold, "passed"), (wrong, "mismatch")):
        outcomes = []
        for _ in range(2):
            softmax.reset(seed=5)
            outcomes.append(softmax.step(kgb_gym.submit(code)))
        assert outcomes[0] == outcomes[1]
        assert outcomes[0][0]["status"] == status
    assert outcomes[0][0]["test_diff"]
    assert 0.1 - 0.01 < outcomes[0][1] < 0.3


def test_tools(real, softmax):
    softmax.reset(seed=0)
    gold = gold_source("aten/softmax")
    observation, *_, info = softmax.step(kgb_gym.call("test", code=gold))
    assert (observation["status"], info["verdict"].kind, info["verdict"].clean) == ("passed", "test", False)
    observation, *_, info = softmax.step(kgb_gym.call("compile", code=gold))
    assert (observation["status"], info["verdict"].kind) == ("passed", "compile")
    assert "cuda:90" in info["verdict"].compiled_for
    assert "cuda:90: ok" in observation["message"] and "registers" in observation["message"]
    case = info["verdict"].cases
    ids = [c.id for c in kgb_gym.get_operator("aten/softmax").cases("smoke")][:1]
    observation, *_, info = softmax.step(kgb_gym.call("test", code=gold, cases=ids))
    assert [c.case for c in info["verdict"].cases] == ids, case
    assert info["reward_terms"]["potential"] == 0


def test_a_vector_verifies_different_operators(real):
    env = gymnasium.make_vec("kgb/ms-v0", num_envs=2, engine=real, platform="cpu", suite="smoke")
    names = ["aten/softmax", "cublas/Saxpy_v2"]
    env.reset(seed=0, options={"operator": names})
    _, rewards, *_ = env.step([kgb_gym.submit(gold_source(n)) for n in names])
    assert (rewards > 1.25).all()
    env.close()


def test_the_default_engine_is_shared(softmax):
    from kgb_gym.sandbox import shared_engine

    envs = [gymnasium.make("kgb/aten-softmax-v0", platform="cpu", suite="smoke") for _ in range(2)]
    for env in envs:
        env.reset(seed=0)
        observation, *_ = env.step(kgb_gym.submit("x ="))
        assert observation["status"] == "syntax_error"
        env.close()
    engine = shared_engine("cpu")
    assert engine is shared_engine("cpu")
    engine.close()
