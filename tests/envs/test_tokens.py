import socket

import pytest

from kgb_gym.envs import tokens
from kgb_gym.envs.tokens import Usage


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("counting tokens opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_counts_offline():
    tokens._encoding.cache_clear()
    assert tokens.count("hello world") == 2
    assert tokens.count("") == 0
    assert tokens.count("<|endoftext|>") > 1
    assert tokens.count("\ud800a") > 0


def test_what_is_charged_is_the_larger_of_reported_and_counted():
    assert tokens.spent(Usage(), "hello world", "hello world").total == 4
    assert tokens.spent(Usage(), "hello world", "hello").source == "counted"
    reported = tokens.spent(Usage(100, 50, 90), "hello world", "hello")
    assert (reported.total, reported.source, reported.usage.cached_tokens) == (150, "reported", 90)


def test_reported_counts_are_kept_even_where_more_is_charged():
    spent = tokens.spent(Usage(1, 1, 1), "hello world", "hello world")
    assert (spent.usage, spent.source, spent.total) == (Usage(1, 1, 1), "reported", 4)


def test_a_policy_that_counted_itself_says_so():
    assert tokens.spent(Usage(9, 9), "hello world", "hello", "counted").source == "counted"
    assert tokens.spent(Usage(9, 9), "hello world", "hello", "nonsense").source == "reported"


def test_a_policy_that_vouches_for_its_counts_is_charged_those():
    spent = tokens.spent(Usage(), "hello world", "a log of what an agent did", "reported")
    assert (spent.total, spent.source) == (0, "reported")
