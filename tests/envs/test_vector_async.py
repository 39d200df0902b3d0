"""`send` and `recv`: whoever is ready is handed out, and nobody is held."""

from concurrent.futures import Future

import gymnasium
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError, ResetNeeded

import kgb_gym
from kgb_gym.envs.actions import InvalidAction
from kgb_gym.operators import gold_source


class Held:
    """An engine whose verdicts come when the test says so."""

    def __init__(self):
        self.jobs = []

    def submit(self, job):
        future = Future()
        self.jobs.append((job, future))
        return future

    def close(self):
        pass


@pytest.fixture
def held():
    return Held()


@pytest.fixture
def make_vec(held):
    made = []

    def build(num_envs=3, env_id="kgb/aten-add-v0", **kwargs):
        env = gymnasium.make_vec(env_id, num_envs=num_envs, **{"engine": held, "platform": "cpu", **kwargs})
        made.append(env)
        env.reset(seed=0)
        return env

    yield build
    for env in made:
        env.close()


@pytest.fixture
def answer(held, verdict):
    """`answer(i)`: the i-th job asked for passes now."""
    return lambda i: held.jobs[i][1].set_result(verdict(job=held.jobs[i][0]))


def test_a_slow_one_holds_nobody(make_vec, submit, answer):
    env = make_vec()
    env.send([submit("a"), submit("b"), submit("c")])
    assert env.in_flight == (0, 1, 2)
    answer(2)
    got = env.recv()
    assert got.ids.tolist() == [2]
    assert got.observations["status"] == ("passed",)
    assert got.rewards.shape == got.terminations.shape == got.truncations.shape == (1,)
    assert got.infos["verdict"][0].status == "passed"
    for number in range(3, 6):  # the quick one goes on, the slow ones wait
        env.send([submit(f"d{number}")], [2])
        answer(number)
        assert env.recv().ids.tolist() == [2]
    assert env.in_flight == (0, 1)
    answer(1)
    answer(0)
    got = env.recv(at_least=2)
    assert got.ids.tolist() == [0, 1]
    assert (got.rewards > 1).all()
    assert got.infos["turn"].tolist() == [1, 1]


def test_what_needs_no_engine_is_ready_at_once(make_vec, call, submit, held):
    env = make_vec()
    env.send([call("nope"), submit("a")], np.array([2, 0]))
    assert env.recv().ids.tolist() == [2]
    with pytest.raises(TimeoutError, match="0 of 1"):
        env.recv(timeout=0.05)
    assert env.in_flight == (0,)
    held.jobs[0][1].set_exception(RuntimeError("broken"))
    got = env.recv(at_least=5)  # more than are in flight
    assert got.infos["verdict"][0].status == "harness_error"
    assert not got.infos["reward_valid"][0]


def test_wrong_calls_begin_nothing(make_vec, submit, answer, held):
    env = make_vec()
    with pytest.raises(NoAsyncCallError):
        env.recv()
    env.send([submit("a")], [1])
    with pytest.raises(AlreadyPendingCallError, match="sub-environment 1 is in flight"):
        env.send([submit("b")] * 2, [0, 1])
    with pytest.raises(AlreadyPendingCallError):
        env.step([submit("b")] * 3)
    with pytest.raises(AlreadyPendingCallError):
        env.reset()
    for ids, text in (([3], "0 to 2"), ([-1], "0 to 2"), ([0, 0], "twice"), ([], "non-empty"), ([0.5], "whole")):
        with pytest.raises(ValueError, match=text):
            env.send([submit("b")] * len(ids), ids)
    with pytest.raises(InvalidAction, match="1 actions for 2"):
        env.send([submit("b")], [0, 2])
    with pytest.raises(InvalidAction):
        env.send([submit("b"), None], [0, 2])
    with pytest.raises(ValueError, match="at_least"):
        env.recv(0)
    assert len(held.jobs) == 1
    env.reset(options={"reset_mask": np.array([True, False, True])})  # others may be reset meanwhile
    answer(0)
    assert env.recv().ids.tolist() == [1]


def test_autoreset_in_flight(make_vec, submit, answer):
    env = make_vec()
    env.send([submit("a", finish=True), submit("b")], [0, 1])
    answer(0)
    got = env.recv()
    assert got.terminations.tolist() == [True]
    assert got.infos["final_obs"][0]["status"] == "passed"
    assert got.observations["status"] == ("",)
    env.send([submit("c")], [0])
    off = make_vec(autoreset_mode="Disabled")
    off.send([submit("a", finish=True)], [0])
    answer(3)
    assert "final_obs" not in off.recv().infos
    with pytest.raises(ResetNeeded):
        off.send([submit("b")] * 2, [0, 1])
    assert off.in_flight == ()


def test_closing_in_flight_drops_what_was_not_returned(make_vec, submit, held, tmp_path):
    from kgb_gym.datasets.store import load

    env = make_vec(record=tmp_path / "run")
    env.send([submit("a"), submit("b")], [0, 1])
    held.jobs[0][1].set_running_or_notify_cancel()
    env.close()
    assert held.jobs[1][1].cancelled()
    assert load(tmp_path / "run").steps.num_rows == 0


def test_with_what_really_verifies(local_engine):
    env = gymnasium.make_vec("kgb/cublas-Saxpy_v2-v0", num_envs=2, engine=local_engine, platform="cpu", suite="smoke")
    env.reset(seed=0)
    env.send([kgb_gym.submit(gold_source("cublas/Saxpy_v2")), kgb_gym.submit("x =")])
    first = env.recv()
    second = first if len(first.ids) == 2 else env.recv()
    statuses = dict(zip([*first.ids.tolist(), *second.ids.tolist()],
                        [*first.observations["status"], *second.observations["status"]], strict=True))  # fmt: skip
    assert statuses == {0: "passed", 1: "syntax_error"}
    env.close()
