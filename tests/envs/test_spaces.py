import json
import pickle
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from kgb_gym.envs.spaces import Count, JsonText, UnicodeText

SPACES = [UnicodeText(100), JsonText(100), Count(50)]


@pytest.mark.parametrize("text", ["", "abc", "naïve 中文 🙂", "\ud800", "\x00\n", "x" * 100])
def test_any_text_up_to_the_length(text):
    assert text in UnicodeText(100)
    assert "x" * 101 not in UnicodeText(100)


@pytest.mark.parametrize("thing", [None, 1, b"abc", ["a"], np.array("a")])
def test_nothing_but_text(thing):
    assert thing not in UnicodeText(100)


def test_contains_takes_constant_time():
    space = UnicodeText(1 << 26)
    short, long = "x", "é" * (1 << 24)
    times = []
    for text in (short, long):
        start = time.perf_counter()
        for _ in range(1000):
            assert space.contains(text)
        times.append(time.perf_counter() - start)
    assert times[1] < 50 * times[0]


def test_samples_are_short_seeded_and_inside():
    for space in [UnicodeText(1 << 20), UnicodeText(3), UnicodeText(0), JsonText(10), Count(7), Count(0)]:
        space.seed(5)
        first = [space.sample() for _ in range(200)]
        space.seed(5)
        assert first == [space.sample() for _ in range(200)]
        assert all(s in space for s in first)
    assert max(map(len, (UnicodeText(1 << 20, seed=0).sample() for _ in range(200)))) <= 24


def test_json_samples_are_objects():
    assert json.loads(JsonText(10).sample()) == {}


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_equal_pickled_shown_and_jsonable(space):
    twin = pickle.loads(pickle.dumps(space))
    assert twin == space
    assert repr(twin) == repr(space)
    samples = [space.sample() for _ in range(5)]
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))) == samples


def test_unequal():
    assert UnicodeText(5) != UnicodeText(6)
    assert UnicodeText(5) != JsonText(5)
    assert Count(5) != Count(6)
    assert UnicodeText(5) != gymnasium.spaces.Text(5)


def test_counts():
    space = Count(5)
    assert 5 in space
    assert np.int64(3) in space
    assert not any(x in space for x in (6, -1, True, 1.0, "1"))


def test_sizes_below_zero_and_masks_are_refused():
    with pytest.raises(ValueError, match="max_length"):
        UnicodeText(-1)
    with pytest.raises(ValueError, match="largest"):
        Count(-1)
    with pytest.raises(ValueError, match="masks"):
        UnicodeText(5).sample(mask="a")


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_batches(space):
    batch = batch_space(space, 3)
    items = [space.sample() for _ in range(3)]
    joined = concatenate(space, items, create_empty_array(space, 3))
    assert joined in batch
    assert list(iterate(batch, joined)) == items
