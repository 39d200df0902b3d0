"""A run in a process of its own that may be killed: imports everything, then waits for a folder on standard input.

Verdicts are made up from what a source says of itself: what is tried is what a kill does to records, not the judge.
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pandas  # noqa: F401  # pyarrow imports it when it first makes rows

import kgb_gym
from kgb_gym import prompts
from kgb_gym.envs import Budgets, tokens
from kgb_gym.operators import get
from kgb_gym.runs import PlainProgress, Run, RunConfig
from kgb_gym.verdict import CaseResult, Hack, Stage, Status, Verdict

STAGES = {Status.PASSED: Stage.GENUINE, Status.MISMATCH: Stage.COMPILED, Status.HACK: Stage.PARSED}
CONFIG = RunConfig(
    method="drawn", operators=("aten/cos", "aten/t", "vllm/rms_norm", "cublas/Sscal_v2"), suite="smoke", platform="cpu",
    samples=16, early_stop=False, budgets=Budgets(max_submissions=4, stop_on_clean=True),
)  # fmt: skip


class Believing:
    """An engine that takes a few milliseconds and believes a source's first line."""

    def submit(self, job):
        time.sleep(0.004)
        status = Status(job.source.decode().split()[1])
        right = status is Status.PASSED
        hacks = (Hack("screen", "import", "imports os", 1),) if status is Status.HACK else ()
        future = Future()
        future.set_result(
            Verdict(
                operator=job.operator, source_sha256=hashlib.sha256(job.source).hexdigest(), suite=job.suite,
                platform=job.platform, stage=STAGES[status], status=status, message=f"it is {status.value}",
                cases=(CaseResult("f[n=4]", "f", {"n": 4}, "paper", passed=right, passed_paper=right),), hacks=hacks,
                clean=right, clean_paper=right, seed=job.seed,
            )
        )  # fmt: skip
        return future

    def close(self):
        pass


class Drawn:
    """A policy whose submissions follow from the episode's seed."""

    method, model, synthetic = "drawn", "stand-in", False

    def reset(self, operator, seed):
        self.rng = random.Random(seed)

    def act(self, observation, info):
        status = self.rng.choice(("passed", "mismatch", "mismatch", "hack"))
        usage = {"prompt_tokens": self.rng.randrange(9_000, 20_000), "completion_tokens": 100}
        return kgb_gym.submit(f"# {status} {self.rng.random()}", usage=usage)

    def close(self):
        pass


def carry_out(folder: Path) -> None:
    """The run, to its end."""
    run = Run(CONFIG, folder, engine=Believing(), workers=2, progress=PlainProgress(sys.stdout), policies=Drawn)
    assert run.carry_out().complete


def main() -> None:
    for name in CONFIG.operators:
        prompts.render(get(name), "cpu", "smoke")
    tokens.count("words")
    folder = sys.stdin.readline().strip()
    if folder:
        print("begins", flush=True)
        carry_out(Path(folder))


if __name__ == "__main__":
    main()
