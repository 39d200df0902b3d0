"""Stand-ins for agents' programs: Python scripts that are started, fenced in and listened to as the real ones are."""

import importlib.util
import sys
import textwrap
from pathlib import Path

import gymnasium
import pytest

from kgb_gym.baselines.agents import PROGRAMS, Agent, AgentPolicy, Reach
from kgb_gym.baselines.methods import find
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer

HERE = Path(__file__).parent

PRELUDE = '''\
import json, os, pathlib, subprocess, sys, time, urllib.request

def verify(*arguments):
    """Exit status and output of the `verify` command."""
    done = subprocess.run(["verify", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr

def write(text, name="kernel.py"):
    pathlib.Path(name).write_text(text)

def ask(text="hello", path="/v1/messages", **more):
    """One request to the model, as Claude Code sends them."""
    body = {"model": "stand-in", "max_tokens": 99, "messages": [{"role": "user", "content": text}], **more}
    key = os.environ["ANTHROPIC_API_KEY"]
    headers = {"x-api-key": key, "authorization": "Bearer " + key, "content-type": "application/json"}
    url = os.environ["ANTHROPIC_BASE_URL"] + path
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return response.read().decode()

def say(**event):
    print(json.dumps(event), flush=True)

'''


def _believing_engine():
    path = HERE.parent / "methods" / "conftest.py"
    spec = importlib.util.spec_from_file_location("methods_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.BelievingEngine()


@pytest.fixture
def engine():
    """`# passed`, `# mismatch`, …: the first line of a source is its verdict."""
    return _believing_engine()


@pytest.fixture
def server():
    """A model's server that wants the real key, which no agent ever sees."""
    with LoopbackServer(lambda request: Answer("I see.", cached=2), key="the-real-key") as running:
        yield running


@pytest.fixture
def program(tmp_path):
    """`program(body)`: an executable whose script has the helpers of `PRELUDE`."""

    def write(body, name="claude"):
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{PRELUDE}\n{textwrap.dedent(body)}")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def agent(server):
    """`agent(path, **kwargs)`: Claude Code, as far as anybody can tell, on the stand-in model."""

    def make(path, *, kind="claude-code", provider="anthropic", reach=None, **kwargs):
        settings = {"model": "stand-in", "upstream": server.root, "key": "the-real-key", "wall_s": 60.0, **kwargs}
        return Agent(PROGRAMS[kind], Reach(path, **(reach or {})), provider=provider, **settings)

    return make


@pytest.fixture
def play(engine):
    """`play(agent, record=None)`: the summary of one episode."""
    from kgb_gym.baselines import rollout

    made = []

    def run(chosen, method="claude-code", **kwargs):
        found = find(method)
        env = gymnasium.make(
            "kgb/aten-cos-v0", engine=engine, platform="cpu", suite="smoke", budgets=found.budgets,
            prompt=found.prompt, **kwargs,
        )  # fmt: skip
        made.append(env)
        summary = rollout(env, AgentPolicy(method, chosen), operator="aten/cos", seed=1)
        env.close()
        return summary

    yield run
    for env in made:
        env.close()
