import gymnasium
import pytest

from kgb_gym.sandbox import LocalEngine


@pytest.fixture(scope="session")
def engine():
    """The real engine, with one judge."""
    with LocalEngine(workers=1) as engine:
        yield engine


@pytest.fixture
def make(engine):
    """`make(id, **kwargs)`: an environment on the smoke suite with the real engine, closed at the end."""
    made = []

    def build(env_id="kgb/ms-v0", **kwargs):
        kwargs = {"engine": engine, "platform": "cpu", "suite": "smoke", "limits": {"call_s": 6.0}, **kwargs}
        env = gymnasium.make(env_id, **kwargs)
        made.append(env)
        return env

    yield build
    for env in made:
        env.close()
