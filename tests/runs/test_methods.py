"""Runs of methods that ask a model: early stop, resuming, limits of the whole run, servers that fail."""

import _thread
import io
import json
import threading
from dataclasses import replace

import pytest

from kgb_gym.baselines.drafts import drafts
from kgb_gym.baselines.methods import find
from kgb_gym.baselines.methods.build import asking
from kgb_gym.baselines.models import Endpoint, ModelRefused, Retry, connect
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer
from kgb_gym.datasets.store import load
from kgb_gym.operators import gold_source
from kgb_gym.runs import Account, Caps, JsonProgress, PlainProgress, Prices, Run, RunConfig, read_prices
from kgb_gym.sandbox import shared_engine

OPERATORS = ("aten/t", "aten/cos")
WRONG = "Here:\n```python\ndef f(:\n```\n"


def right(name):
    return f"Here:\n```python\n{gold_source(name)}\n```\n"


def named(request):
    return next(name for name in OPERATORS if f"`{name}`" in request.text)


class Model:
    """A server with a script, and runs of methods on it."""

    def __init__(self, script, folder):
        self.server = LoopbackServer(script)
        endpoint = Endpoint("stand-in", base_url=self.server.url, retry=Retry(tries=2, first_s=0.01))
        self.client = connect(endpoint)
        self.folder = folder

    def run(self, method, *, operators=OPERATORS, workers=2, account=None, progress=None):
        config = RunConfig(
            method=method.name, operators=operators, suite="smoke", platform="cpu", samples=method.samples,
            early_stop=method.early_stop, prompt=method.prompt, budgets=method.budgets,
        )  # fmt: skip
        return Run(
            config, self.folder, engine=shared_engine("cpu"), workers=workers, account=account,
            progress=progress or PlainProgress(io.StringIO()), policies=lambda: asking(method, self.client),
        ).carry_out()  # fmt: skip

    def close(self):
        self.client.close()
        self.server.close()


@pytest.fixture
def model(tmp_path):
    """`model(script)`: see `Model`; closed at the end."""
    made = []

    def start(script):
        made.append(Model(script, tmp_path / "run"))
        return made[-1]

    yield start
    for each in made:
        each.close()


def test_sampling_stops_at_the_first_clean_pass(model):
    """aten/t passes at once, aten/cos with its third sample."""
    count = {name: 0 for name in OPERATORS}

    def script(request):
        name = named(request)
        count[name] += 1
        return Answer(right(name) if name == "aten/t" or count[name] == 3 else WRONG)

    running = model(script)
    summary = running.run(find("pass@5"))
    assert count == {"aten/t": 1, "aten/cos": 3}
    assert (summary.total, summary.complete, summary.clean) == (4, True, 2)
    rows = load(running.folder).episodes.to_pylist()
    assert sorted((r["operator"], r["sample"], r["clean_pass"]) for r in rows) == [
        ("aten/cos", 0, False), ("aten/cos", 1, False), ("aten/cos", 2, True), ("aten/t", 0, True),
    ]  # fmt: skip
    assert {(r["method"], r["model"], r["samples"], r["early_stop"], r["synthetic"]) for r in rows} == {
        ("pass@5", "stand-in", 5, True, False)
    }
    assert running.run(find("pass@5")).resumed == 4
    assert sum(count.values()) == 4, "what is finished, or needless, is not asked for again"


def test_a_hack_neither_passes_nor_stops(model):
    native = next(d.source for d in drafts("aten/t") if d.name == "native")
    hack = f"```python\n{native}\n```"
    running = model(lambda r: Answer(hack if r.index == 0 else right("aten/t")))
    summary = running.run(find("pass@3"), operators=("aten/t",))
    assert [o.outcome for o in summary.outcomes] == ["hack", "passed"]


def test_without_early_stop_all_samples_are_drawn(model):
    running = model(lambda request: Answer(right(named(request))))
    summary = running.run(find("pass@1", samples=3, early_stop=False), operators=("aten/t",))
    assert (summary.total, summary.clean, len(running.server.requests)) == (3, 3, 3)


def test_a_wrong_key_ends_the_run_at_once(model):
    running = model(lambda request: Answer(status=401, error="no"))
    with pytest.raises(ModelRefused, match="key was refused"):
        running.run(find("pass@1"), workers=1)
    assert len(running.server.requests) == 1
    assert load(running.folder).episodes.num_rows == 0


def test_a_server_that_fails_costs_one_episode_which_is_played_again(model):
    broken = {"aten/cos"}

    def script(request):
        name = named(request)
        return Answer(status=500, error="out of memory") if name in broken else Answer(right(name))

    running = model(script)
    first = running.run(find("pass@1"))
    assert {(o.operator, o.outcome, o.scored) for o in first.outcomes} == {
        ("aten/t", "passed", True), ("aten/cos", "error", False),
    }  # fmt: skip
    failed = next(o for o in first.outcomes if o.operator == "aten/cos")
    assert "ModelUnavailable: no answer after 2 tries: the server answered 500" in failed.error
    assert "out of memory" in (running.folder / "errors.log").read_text()
    broken.clear()
    second = running.run(find("pass@1"))
    assert (second.resumed, second.clean, second.unscored) == (1, 2, 0)


def test_a_server_that_stays_away_ends_the_run(model):
    running = model(lambda request: Answer(status=503, error="starting"))
    summary = running.run(find("pass@1", samples=20, early_stop=False), operators=("aten/t",), workers=1)
    assert "gave no answer to 5 episodes in a row" in summary.stopped
    assert (len(summary.outcomes), summary.complete, summary.interrupted) == (5, False, False)


def test_the_tokens_of_a_run_are_limited_over_all_of_its_calls(model):
    running = model(lambda request: Answer(WRONG))
    method = find("pass@1", samples=6, early_stop=False)
    one = running.run(method, operators=("aten/t",), workers=1, account=Account(Caps(tokens=1)))
    assert (len(one.outcomes), one.stopped) == (1, "the run's 1 tokens are used up")
    again = running.run(method, operators=("aten/t",), workers=1, account=Account(Caps(tokens=one.tokens)))
    assert (len(again.outcomes), again.tokens) == (1, one.tokens), "earlier calls count"
    more = running.run(method, operators=("aten/t",), workers=1, account=Account(Caps(tokens=3 * one.tokens)))
    assert len(more.outcomes) == 3


def test_money_is_counted_by_a_price_table(model, tmp_path):
    running = model(lambda request: Answer(WRONG, cached=100))
    prices = Prices(prompt=3.0, completion=15.0, cached=0.3)
    summary = running.run(find("pass@1"), operators=("aten/t",), account=Account(Caps(usd=1.0), prices))
    (step,) = load(running.folder).steps.to_pylist()
    wanted = ((step["prompt_tokens"] - 100) * 3 + 100 * 0.3 + step["completion_tokens"] * 15) / 1e6
    assert summary.usd == pytest.approx(wanted)
    assert not summary.stopped
    with pytest.raises(ValueError, match="needs prices"):
        Account(Caps(usd=1.0))


def test_reading_prices(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"m": {"prompt": 1, "completion": 2}}))
    assert read_prices(path, "m").cost(1_000_000, 500_000, 400_000) == 2.0
    with pytest.raises(ValueError, match="no prices for 'x'; it names m"):
        read_prices(path, "x")
    path.write_text('{"m": {"prompt": "free"}}')
    with pytest.raises(ValueError, match="is no table of prices, such as"):
        read_prices(path, "m")
    with pytest.raises(ValueError, match="negative"):
        Prices(-1, 0)
    with pytest.raises(ValueError, match="must be positive"):
        Caps(tokens=0)


def test_progress_as_json_lines(model):
    file = io.StringIO()
    running = model(lambda request: Answer(right(named(request)) if request.index else WRONG))
    running.run(find("pass@3"), operators=("aten/t",), progress=JsonProgress(file))
    events = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [e["event"] for e in events] == [
        "start", "begin", "step", "end", "begin", "step", "end", "skip", "close",
    ]  # fmt: skip
    assert (events[0]["episodes"], events[-2]["episodes"]) == (3, 1)
    assert events[3]["outcome"] == "syntax_error"
    assert events[6]["clean"] is True
    assert all(e["at"].endswith("+00:00") for e in events)


def test_episodes_wait_for_their_models_side_by_side(model):
    """Eight answers of a slow server take as long as one, where there are eight episodes at once."""
    together, lock, most = [0], threading.Lock(), [0]

    def script(request):
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        threading.Event().wait(0.5)
        with lock:
            together[0] -= 1
        return Answer(WRONG)

    running = model(script)
    running.run(find("pass@1", samples=8, early_stop=False), operators=("aten/t",), workers=8)
    assert most[0] >= 6


def test_other_settings_are_another_configuration(model):
    running = model(lambda request: Answer(WRONG))
    running.run(find("pass@1"), operators=("aten/t",))
    from kgb_gym.datasets.runfile import ConfigMismatch

    with pytest.raises(ConfigMismatch, match="early_stop: recorded true, given false"):
        running.run(replace(find("pass@1"), early_stop=False), operators=("aten/t",))


class Busy:
    """A policy that works for as long as it is let, as an agent does, and hears an interrupt at once."""

    method, model, synthetic = "busy", None, False

    def __init__(self):
        self.closed = threading.Event()

    def reset(self, operator, seed):
        self.closed.clear()

    def act(self, observation, info):
        _thread.interrupt_main()
        assert self.closed.wait(60), "nobody ended it"
        raise RuntimeError("ended from outside")

    def close(self):
        self.closed.set()


def test_an_interrupt_ends_what_works_without_turns(tmp_path):
    config = RunConfig(method="gold", operators=OPERATORS, suite="smoke", platform="cpu")
    running = Run(
        config, tmp_path / "run", engine=shared_engine("cpu"), workers=1, policies=Busy,
        progress=PlainProgress(io.StringIO()),
    )  # fmt: skip
    summary = running.carry_out()
    assert (summary.interrupted, summary.outcomes, summary.complete) == (True, (), False)
    assert load(tmp_path / "run").episodes.num_rows == 0
