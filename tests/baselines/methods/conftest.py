"""A model behind a loopback server, and an engine that believes what a source says of itself."""

import hashlib
from concurrent.futures import Future

import gymnasium
import pytest

from kgb_gym.baselines.models import Endpoint, Retry, connect
from kgb_gym.baselines.models.loopback import LoopbackServer, in_turn
from kgb_gym.verdict import CaseResult, Difference, Stage, Status, Verdict

STAGES = {Status.PASSED: Stage.GENUINE, Status.MISMATCH: Stage.COMPILED, Status.HACK: Stage.CORRECT}


class BelievingEngine:
    """`# passed`, `# mismatch`, `# hack`: the first line of a source is its verdict. What is really judged is tested
    with the real engine."""

    def __init__(self):
        self.jobs = []

    def submit(self, job):
        self.jobs.append(job)
        status = Status(job.source.decode().split()[1])
        right = status is Status.PASSED
        wrong = Difference("return", 0.5, 0.25, (3,), 2.0, 1.5, 1, 4)
        case = CaseResult("f[n=4]", "f", {"n": 4}, "paper", passed=right, difference=None if right else wrong)
        future = Future()
        future.set_result(
            Verdict(
                operator=job.operator, source_sha256=hashlib.sha256(job.source).hexdigest(), suite=job.suite,
                platform=job.platform, stage=STAGES.get(status, Stage.LOADED), status=status, kind=job.kind,
                message=f"it is {status.value}", cases=(case,), clean=right and job.kind == "verify", clean_paper=right,
            )
        )  # fmt: skip
        return future

    def close(self):
        pass


def module(status, note=""):
    """An answer with a module that says of itself what it is."""
    return f"Here it is.\n\n```python\n# {status} {note}\n```\n"


@pytest.fixture(name="module")
def module_fixture():
    return module


@pytest.fixture
def engine():
    return BelievingEngine()


@pytest.fixture
def serve():
    """`serve(*answers)`: a running server, closed at the end."""
    running = []

    def start(*answers, **kwargs):
        script = answers[0] if len(answers) == 1 and callable(answers[0]) else in_turn(*answers)
        running.append(LoopbackServer(script, **kwargs))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def client():
    """`client(server)`: the openai SDK on that server, closed at the end."""
    made = []

    def make(server, **kwargs):
        settings = {"model": "stand-in", "retry": Retry(tries=2, first_s=0.01), "timeout_s": 20.0, **kwargs}
        made.append(connect(Endpoint(base_url=server.url, **settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def make(engine):
    """`make(method, **kwargs)`: an environment with the method's budgets and prompt, closed at the end."""
    made = []

    def build(method, **kwargs):
        settings = {"engine": engine, "platform": "cpu", "suite": "smoke", "budgets": method.budgets}
        made.append(gymnasium.make("kgb/aten-cos-v0", **{**settings, "prompt": method.prompt, **kwargs}))
        return made[-1]

    yield build
    for env in made:
        env.close()
