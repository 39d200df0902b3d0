import subprocess
import sys

import gymnasium
import pytest

import kgb_gym
from kgb_gym.envs import registration
from kgb_gym.operators import get, names


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_an_id_for_every_operator_and_two_sets():
    ids = registration.ids()
    assert {i: p for i, p in ids.items() if "-" in i.removesuffix("-v0")} == {get(n).env_id: n for n in names()}
    assert ids["kgb/ms-v0"] == "*"
    assert ids["kgb/mc-v0"] == "aten/*"
    assert set(ids) <= set(gymnasium.registry)


def test_specs_leave_vector_entry_points_usable():
    for env_id in registration.ids():
        spec = gymnasium.spec(env_id)
        assert spec.additional_wrappers == ()
        assert spec.max_episode_steps is None
        assert isinstance(spec.entry_point, str)
        assert isinstance(spec.vector_entry_point, str)


def test_registering_again_changes_nothing(recwarn):
    before = dict(gymnasium.registry)
    registration.register()
    assert gymnasium.registry == before
    assert not recwarn.list


def test_importing_is_light():
    code = "import sys, kgb_gym; print([m for m in ('torch', 'triton', 'pyarrow', 'datasets', 'jinja2') if m in sys.modules])"
    assert python(code) == "[]"


def test_make_imports_by_itself():
    code = (
        "import gymnasium; e = gymnasium.make('kgb_gym:kgb/aten-add-v0', platform='cpu'); "
        "print(e.reset(seed=0)[1]['operator']); e.close()"
    )
    assert python(code) == "aten/add"


def test_the_public_names():
    for name in kgb_gym.__all__:
        assert getattr(kgb_gym, name) is not None
        assert name in dir(kgb_gym)
    assert kgb_gym.__all__ == sorted(kgb_gym.__all__)
    assert set(kgb_gym.__all__) == {
        "Budgets", "ChatWrapper", "KernelEnv", "KernelVectorEnv", "Limits", "Operator", "RewardConfig", "Stage",
        "Status", "Verdict", "call", "get_operator", "list_operators", "submit",
    }  # fmt: skip
    assert kgb_gym.__version__
    with pytest.raises(AttributeError, match="nothing"):
        _ = kgb_gym.nothing


def test_the_public_names_of_envs():
    from kgb_gym import envs

    for name in envs.__all__:
        assert getattr(envs, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = envs.nothing


def test_the_multi_chip_half_is_offered_everywhere_and_the_rest_says_why_not(tmp_path):
    env = gymnasium.make("kgb/mc-v0", platform="emu-a", targets=["portable"])
    assert env.unwrapped.platform.name == "emu-a" and env.unwrapped.suite == "quick"
    assert len(env.unwrapped.pool.names) == 110 and len(env.unwrapped.targets) == 5
    observation, _ = env.reset(seed=0, options={"operator": "aten/cos"})
    assert "emulation" in observation["prompt"]
    env.close()
    for name in ("kgb/ms-v0", "kgb/vllm-rms_norm-v0", "kgb/cublas-Sgemm_v2-v0"):
        with pytest.raises(ValueError, match=r"no (vllm|cublas) operator on ascend: .*kgb/mc-v0"):
            gymnasium.make(name, platform="ascend")
    with pytest.raises(ValueError, match="unknown target"):
        gymnasium.make("kgb/mc-v0", platform="cpu", targets=["sm_1"])
