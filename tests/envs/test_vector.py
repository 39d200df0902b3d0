import threading
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from kgb_gym.envs.actions import InvalidAction
from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.vector import KernelVectorEnv


@pytest.fixture
def make_vec(engine):
    made = []

    def build(num_envs=3, env_id="kgb/ms-v0", **kwargs):
        kwargs = {"engine": engine, "platform": "cpu", **kwargs}
        env = gymnasium.make_vec(env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **kwargs)
        made.append(env)
        return env

    yield build
    for env in made:
        env.close()


@pytest.mark.filterwarnings("error")
def test_make_vec_gives_ours(make_vec):
    env = make_vec()
    assert isinstance(env, KernelVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = env.reset(seed=0)
    assert observations in env.observation_space
    assert len(infos["operator"]) == 3
    assert observations["turns_left"].tolist() == [Budgets().max_turns] * 3
    env.action_space.seed(0)
    for _ in range(5):
        observations, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
        assert observations in env.observation_space
        assert rewards.shape == terminated.shape == truncated.shape == (3,)


def test_the_default_mode_is_ours(engine):
    env = gymnasium.make_vec("kgb/aten-add-v0", num_envs=2, engine=engine, platform="cpu")
    assert isinstance(env, KernelVectorEnv)
    env.close()


def test_equal_to_scalar_environments(make_vec, make, submit, call):
    actions = [submit("mismatch 1/4"), submit("passed"), call("nope")]
    vector = make_vec()
    vector.reset(seed=10)
    observations, rewards, _, _, infos = vector.step(actions)
    for i, action in enumerate(actions):
        env = make("kgb/ms-v0")
        env.reset(seed=10 + i)
        observation, reward, *_, info = env.step(action)
        assert reward == rewards[i]
        assert {k: v[i] for k, v in observations.items()} == observation
        assert infos["operator"][i] == info["operator"]
        assert infos["verdict"][i] == info["verdict"]
        assert infos["reward_terms"]["potential"][i] == info["reward_terms"]["potential"]


def test_verifications_run_concurrently(make_vec, submit, verdict):
    together = threading.Barrier(3, timeout=20)

    class Pool:
        def __init__(self):
            self.pool = ThreadPoolExecutor(3)

        def submit(self, job):
            return self.pool.submit(self.judge, job)

        def judge(self, job):
            together.wait()
            return verdict(job=job)

    env = make_vec(engine=Pool())
    env.reset(seed=0)
    _, rewards, *_ = env.step([submit("a"), submit("b"), submit("c")])
    assert (rewards > 1).all()


def test_same_step_autoreset(make_vec, submit):
    env = make_vec(env_id="kgb/aten-add-v0")
    env.reset(seed=0)
    actions = [submit("mismatch 1/4"), submit("passed", finish=True), submit("hack")]
    observations, rewards, terminated, _, infos = env.step(actions)
    assert terminated.tolist() == [False, True, False]
    assert infos["final_obs"][1]["status"] == "passed"
    assert infos["final_info"]["clean"][1]
    assert infos["_final_info"].tolist() == [False, True, False]
    assert observations["status"] == ("mismatch", "", "hack")
    assert observations["turns_left"].tolist() == [39, 40, 39]
    _, rewards, *_ = env.step([submit("passed")] * 3)
    assert rewards[1] > 1.2


def test_disabled_autoreset(make_vec, submit):
    env = make_vec(env_id="kgb/aten-add-v0", autoreset_mode="Disabled")
    env.reset(seed=0)
    _, _, _, _, infos = env.step([submit("passed", finish=i == 1) for i in range(3)])
    assert "final_obs" not in infos
    with pytest.raises(ResetNeeded):
        env.step([submit("passed")] * 3)
    mask = np.array([False, True, False])
    observations, infos = env.reset(options={"reset_mask": mask})
    assert observations["status"] == ("passed", "", "passed")
    assert infos["_operator"].tolist() == mask.tolist()
    env.step([submit("mismatch 1/4")] * 3)


def test_nothing_steps_when_one_action_is_none(make_vec, submit, engine):
    env = make_vec()
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step([submit("passed"), submit("passed"), None])
    with pytest.raises(InvalidAction, match="2 actions for 3"):
        env.step([submit("passed")] * 2)
    with pytest.raises(InvalidAction, match="batch"):
        env.step("passed")
    assert not engine.jobs
    _, _, _, _, infos = env.step([submit("passed")] * 3)
    assert infos["turn"].tolist() == [1, 1, 1]


def test_options_and_seeds(make_vec):
    env = make_vec()
    wanted = ["aten/add", "vllm/rms_norm", "cublas/Sgemm_v2"]
    assert env.reset(options={"operator": wanted})[1]["operator"].tolist() == wanted
    assert env.reset(options={"operator": "aten/add"})[1]["operator"].tolist() == ["aten/add"] * 3
    first = env.reset(seed=[1, 2, 3])[1]["operator"].tolist()
    assert env.reset(seed=1)[1]["operator"].tolist() == first
    for kwargs in (
        {"seed": [1]}, {"options": {"operator": ["aten/add"]}}, {"options": {"reset_mask": [True]}},
        {"options": {"reset_mask": np.zeros(3, dtype=bool)}}, {"options": {"odd": 1}},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="3|shape|false|unknown"):
            env.reset(**kwargs)


def test_what_is_refused(make_vec):
    with pytest.raises(ValueError, match="NEXT_STEP"):
        make_vec(autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="num_envs"):
        make_vec(num_envs=0)


def test_gymnasium_s_own_vectors_work_too(engine, submit):
    env = gymnasium.make_vec(
        "kgb/ms-v0", num_envs=2, vectorization_mode="sync", engine=engine, platform="cpu",
        vector_kwargs={"autoreset_mode": "SameStep"},
    )  # fmt: skip
    env.reset(seed=0)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    env.close()
