"""Workers take episodes until none is left or a stop is asked for."""

import _thread
import threading
import time

import pytest

from kgb_gym.runs import Episode
from kgb_gym.runs.schedule import Stop, Waiting, carry_out

EPISODES = [Episode("aten/cos", i, i) for i in range(20)]


def nothing():
    pass


def test_every_episode_is_carried_out_once():
    done, lock = [], threading.Lock()

    def worker(take):
        while (episode := take()) is not None:
            with lock:
                done.append(episode)

    assert carry_out(Waiting(EPISODES), worker, 4, Stop(), nothing) is False
    assert sorted(done, key=lambda e: e.sample) == EPISODES


def test_an_interrupt_lets_what_has_begun_finish_and_begins_nothing_more():
    done, told, stop = [], [], Stop()

    def worker(take):
        while (episode := take()) is not None:
            if episode.sample == 3:
                _thread.interrupt_main()
                while not stop.asked:
                    time.sleep(0.01)
                time.sleep(0.5)  # the turn that has begun takes its time
            done.append(episode.sample)

    assert carry_out(Waiting(EPISODES), worker, 1, stop, lambda: told.append("stopping")) is True
    assert done == [0, 1, 2, 3]
    assert told == ["stopping"]


def test_a_second_interrupt_is_raised():
    release = threading.Event()

    def worker(take):
        take()
        _thread.interrupt_main()
        release.wait(30)

    with pytest.raises(KeyboardInterrupt):
        carry_out(Waiting(EPISODES), worker, 1, Stop(), _thread.interrupt_main)
    release.set()


def test_an_episode_in_work_ends_between_two_turns():
    stop, turns = Stop(), []

    def worker(take):
        while take() is not None:
            for turn in range(100):
                stop.check()
                turns.append(turn)
                if turn == 5:
                    stop.ask()

    assert carry_out(Waiting(EPISODES), worker, 1, stop, nothing) is False
    assert turns == [0, 1, 2, 3, 4, 5]


def test_an_error_of_a_worker_ends_the_run_and_is_raised():
    def worker(take):
        take()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        carry_out(Waiting(EPISODES), worker, 2, Stop(), nothing)


SAMPLES = [Episode(name, i, i) for name in ("aten/cos", "aten/mm") for i in range(3)]


def keys(episodes):
    return [(e.operator, e.sample) for e in episodes]


def test_in_turn_all_first_samples_come_before_the_second_ones():
    waiting, stop, taken = Waiting(SAMPLES, in_turn=True), Stop(), []
    while (episode := waiting.take(stop)) is not None:
        taken.append(episode)
        waiting.done(episode, enough=False)
    assert keys(taken) == [(name, i) for i in range(3) for name in ("aten/cos", "aten/mm")]


def test_enough_makes_an_operators_other_samples_needless():
    waiting, stop = Waiting(SAMPLES, in_turn=True), Stop()
    first, other = waiting.take(stop), waiting.take(stop)
    assert waiting.done(first, enough=True) == 2
    assert waiting.done(other, enough=False) == 0
    rest = []
    while (episode := waiting.take(stop)) is not None:
        rest.append(episode)
        waiting.done(episode, enough=False)
    assert keys(rest) == [("aten/mm", 1), ("aten/mm", 2)]
    assert len(waiting) == 0


def test_a_worker_waits_for_a_sample_that_depends_on_one_in_work():
    done, order = threading.Event(), []
    waiting, stop = Waiting(SAMPLES[:2], in_turn=True), Stop()

    def worker(take):
        while (episode := take()) is not None:
            if episode.sample == 0:
                done.wait(1.0)
            order.append(episode.sample)
            waiting.done(episode, enough=False)

    threading.Timer(0.3, done.set).start()
    carry_out(waiting, worker, 3, stop, nothing)
    assert order == [0, 1]


def test_a_stop_wakes_workers_that_wait():
    waiting, stop = Waiting(SAMPLES[:2], in_turn=True), Stop()
    assert waiting.take(stop).sample == 0
    threading.Timer(0.2, stop.ask).start()
    assert waiting.take(stop) is None
