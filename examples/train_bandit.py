"""A policy that learns to choose and tune kernel templates: `python examples/train_bandit.py --seeds 0 1 2`.

Four operators, and for each a template with six knobs: whether to write a kernel at all, how programs cover the work,
block size, mask, strides, and the type that is computed in. A choice of all knobs is a submission, an episode is one
submission, and the reward is the environment's own. The policy (REINFORCE) holds one number a knob's value, shared by
the operators, and a correction for each operator. Nothing tells it what a knob means.

On a CPU nothing is timed, so there is no speed to learn: what is learnt is which templates are right everywhere, and
that a call of torch in place of a kernel costs. Where speed is measured it is part of the same reward.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import gymnasium
import numpy as np

import kgb_gym
from kgb_gym.sandbox import LocalEngine

KNOBS = {
    "route": ("triton", "torch"),
    "cover": ("grid", "loop", "once"),
    "block": (16, 64, 1024),
    "mask": ("yes", "no"),
    "stride": ("given", "unit"),
    "compute": ("exact", "half"),
}
"""The knobs of every template and their values."""

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"

COVER = {
    "grid": (
        "for start in range(tl.program_id(0) * BLOCK, tl.program_id(0) * BLOCK + 1, BLOCK)",
        "triton.cdiv(n, BLOCK)",
    ),
    "loop": ("for start in range(0, n, BLOCK)", "1"),
    "once": ("for start in range(0, 1, BLOCK)", "1"),
}
"""How programs cover n elements: a block a program, one program for all blocks, or one program for one block."""

ROWS = {
    "grid": ("for row in range(tl.program_id(0), tl.program_id(0) + 1)", "rows"),
    "loop": ("for row in range(0, rows)", "1"),
    "once": ("for row in range(0, 1)", "1"),
}
"""The same for rows."""


@dataclass(frozen=True)
class Vector:
    """The template of a cuBLAS routine on vectors of n elements."""

    routine: str
    arguments: str
    """Of the routine, in its order; the vectors are x, and y where there is one."""
    value: str
    """What is stored, from `a` (of x) and `b` (of y)."""
    target: str
    returned: str
    torch: str
    """The same by torch: a hack."""
    exact: str = "tl.float32"

    def source(self, knobs: dict) -> str:
        """The module that a choice of knobs means."""
        walk, programs = COVER[knobs["cover"]]
        two = "incy" in self.arguments
        alpha = "alpha" in self.arguments
        kind = self.exact if knobs["compute"] == "exact" else "tl.float16"
        mask = "index < n" if knobs["mask"] == "yes" else "index < index + 1"

        def at(name: str) -> str:
            return f"{name} + {name}_first + index * inc{name}" if knobs["stride"] == "given" else f"{name} + index"

        def first(name: str) -> str:
            return f"    {name}_first = (1 - n) * inc{name} if inc{name} < 0 else 0\n"

        pointers = "x, y, x_first, y_first, incx, incy" if two else "x, x_first, incx"
        scalars = "n, alpha" if alpha else "n"
        kernel = (
            f"@triton.jit\ndef kernel({pointers}, {scalars}, BLOCK: tl.constexpr):\n    {walk}:\n"
            "        index = (start + tl.arange(0, BLOCK)).to(tl.int64)\n"
            f"        keep = {mask}\n        a = tl.load({at('x')}, mask=keep).to({kind})\n"
            + (f"        b = tl.load({at('y')}, mask=keep).to({kind})\n" if two else "")
            + f"        tl.store({at(self.target)}, ({self.value}).to({kind}), mask=keep)\n"
        )
        if knobs["route"] == "torch":
            body = f"    {self.torch}\n    return {self.returned}\n"
        else:
            body = (
                (first("x") if not two else first("x") + first("y"))
                + f"    BLOCK = {knobs['block']}\n    if n > 0:\n"
                + f"        kernel[({programs},)]({pointers}, {scalars}, BLOCK=BLOCK)\n    return {self.returned}\n"
            )
        return f"{HEAD}\n\n{kernel}\n\ndef {self.routine}({self.arguments}):\n{body}"


class RmsNorm:
    """The template of vLLM's rms_norm: rows, each scaled by its root mean square."""

    def source(self, knobs: dict) -> str:
        """The module that a choice of knobs means."""
        walk, programs = ROWS[knobs["cover"]]
        kind = "tl.float32" if knobs["compute"] == "exact" else "tl.float16"
        mask = "column < hidden" if knobs["mask"] == "yes" else "column < column + 1"
        stride = "input.stride(-2)" if knobs["stride"] == "given" else "hidden"
        call = f"kernel[({programs},)](out, input, weight, rows, hidden, {stride}, epsilon, BLOCK={knobs['block']})"
        if knobs["route"] == "torch":
            call = "out.copy_(torch.nn.functional.rms_norm(input, (hidden,), weight, epsilon))"
        return f"""{HEAD}

@triton.jit
def kernel(out, x, weight, rows, hidden, stride, epsilon, BLOCK: tl.constexpr):
    {walk}:
        column = tl.arange(0, BLOCK)
        keep = {mask}
        raw = tl.load(x + row * stride + column, mask=keep, other=0.0)
        a = raw.to({kind})
        scale = tl.rsqrt((tl.sum(a * a, axis=0) / hidden).to(tl.float32) + epsilon)
        w = tl.load(weight + column, mask=keep, other=0.0).to({kind})
        b = (a * scale).to(raw.dtype).to({kind}) * w
        tl.store(out + row * hidden + column, b.to(raw.dtype), mask=keep)


def rms_norm(out, input, weight, epsilon):
    hidden = input.shape[-1]
    rows = input.numel() // hidden
    {call}
"""


TEMPLATES = {
    "cublas/Sscal_v2": Vector("cublasSscal_v2", "n, alpha, x, incx", "alpha * a", "x", "x", "x.mul_(alpha)"),
    "cublas/Saxpy_v2": Vector(
        "cublasSaxpy_v2", "n, alpha, x, incx, y, incy", "alpha * a + b", "y", "y", "y.add_(x, alpha=alpha)"
    ),
    "cublas/Dcopy_v2": Vector(
        "cublasDcopy_v2", "n, x, incx, y, incy", "a", "y", "y", "y.add_(x - y)", exact="tl.float64"
    ),
    "vllm/rms_norm": RmsNorm(),
}
OPERATORS = tuple(TEMPLATES)


class Policy:
    """A softmax a knob over shared numbers plus the operator's own; chooses knobs one by one, independently."""

    def __init__(self, seed: int, *, rate: float = 0.4, learns: bool = True) -> None:
        self.rng = np.random.default_rng(seed)
        self.rate, self.learns = rate, learns
        self.shared = {k: np.zeros(len(v)) for k, v in KNOBS.items()}
        self.own = {o: {k: np.zeros(len(v)) for k, v in KNOBS.items()} for o in OPERATORS}
        self.baseline = dict.fromkeys(OPERATORS, 0.0)
        self.seen = dict.fromkeys(OPERATORS, 0)

    def chances(self, operator: str, knob: str) -> np.ndarray:
        """How likely each value of a knob is."""
        raw = self.shared[knob] + self.own[operator][knob]
        weight = np.exp(raw - raw.max())
        return weight / weight.sum()

    def choose(self, operator: str) -> dict[str, int]:
        """The index of a value for every knob."""
        return {k: int(self.rng.choice(len(v), p=self.chances(operator, k))) for k, v in KNOBS.items()}

    def learn(self, operator: str, chosen: dict[str, int], reward: float) -> None:
        """One step of REINFORCE; the baseline is the running mean reward of the operator."""
        self.seen[operator] += 1
        advantage = reward - self.baseline[operator]
        self.baseline[operator] += advantage / min(self.seen[operator], 20)
        if not self.learns:
            return
        for knob, value in chosen.items():
            slope = -self.chances(operator, knob)
            slope[value] += 1.0
            self.shared[knob] += self.rate * advantage * slope
            self.own[operator][knob] += self.rate / 3 * advantage * slope


def source(operator: str, chosen: dict[str, int]) -> str:
    """The submission that a choice means."""
    return TEMPLATES[operator].source({k: KNOBS[k][v] for k, v in chosen.items()})


def play(
    policy: Policy, engine: LocalEngine, *, seed: int, steps: int, num_envs: int, record: str | None
) -> list[dict]:
    """Play `steps` vector steps, learning after each; gives one row an episode."""
    env = gymnasium.make_vec(
        "kgb/ms-v0", num_envs=num_envs, operators=list(OPERATORS), suite="smoke", engine=engine, record=record,
        budgets={"max_submissions": 1},
    )  # fmt: skip
    about = {"method": "bandit" if policy.learns else "random", "synthetic": True}
    rows: list[dict] = []
    try:
        _, infos = env.reset(seed=seed, options={"record": about})
        operators = list(infos["operator"])
        for step in range(steps):
            chosen = [policy.choose(o) for o in operators]
            actions = [kgb_gym.submit(source(o, c)) for o, c in zip(operators, chosen, strict=True)]
            _, rewards, _, _, infos = env.step(actions)
            ended = infos["final_info"]
            for i, operator in enumerate(operators):
                if not ended["reward_valid"][i]:
                    continue  # a failure of ours is no reward
                policy.learn(operator, chosen[i], float(rewards[i]))
                rows.append({
                    "step": step, "operator": operator, "knobs": list(chosen[i].values()),
                    "reward": round(float(rewards[i]), 4), "clean": bool(ended["clean"][i]),
                    "status": str(ended["verdict"][i].status),
                })  # fmt: skip
            operators = list(infos["operator"])
    finally:
        env.close()
    return rows


def compare(seed: int, engine: LocalEngine, options: argparse.Namespace) -> dict:
    """Learning and random choice under one seed."""
    result: dict = {"seed": seed}
    for name, learns, steps in (("bandit", True, options.steps), ("random", False, options.random_steps)):
        folder = str(Path(options.record) / f"{name}-{seed}") if options.record else None
        began = time.monotonic()
        policy = Policy(seed, learns=learns)
        rows = play(policy, engine, seed=1000 * seed, steps=steps, num_envs=options.num_envs, record=folder)
        last = rows[-len(rows) // 4 :] if learns else rows
        result[name] = {
            "episodes": len(rows), "seconds": round(time.monotonic() - began, 1),
            "reward": round(fmean(r["reward"] for r in last), 4), "clean": round(fmean(r["clean"] for r in last), 4),
            "rows": rows,
        }  # fmt: skip
        print(f"seed {seed}, {name}: {len(rows)} episodes in {result[name]['seconds']:.0f} s, mean reward "
              f"{result[name]['reward']:.3f}, {100 * result[name]['clean']:.0f}% clean"
              f"{' over the last quarter' if learns else ''}", flush=True)  # fmt: skip
    return result


def draw(results: list[dict], path: str) -> None:
    """The learning curves: mean reward of every vector step, smoothed over five, and random choice's mean."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for result, colour in zip(results, ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"), strict=False):
        rows = result["bandit"]["rows"]
        each = [fmean(r["reward"] for r in rows if r["step"] == s) for s in sorted({r["step"] for r in rows})]
        smooth = [fmean(each[max(0, i - 4) : i + 1]) for i in range(len(each))]
        episodes = [(i + 1) * len(rows) / len(each) for i in range(len(each))]
        axes.plot(episodes, smooth, color=colour, label=f"learning, seed {result['seed']}")
        axes.axhline(result["random"]["reward"], color=colour, linestyle=":",
                     label=f"random, seed {result['seed']} (mean)")  # fmt: skip
    axes.axhline(1.3, color="black", linewidth=0.8)
    axes.annotate("every case right: 1.3 less tokens", (0, 1.3), xytext=(2, 3), textcoords="offset points", fontsize=8)
    axes.set_xlabel("Episodes (one submission each)")
    axes.set_ylabel("Reward, mean of the last five steps")
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="center right")
    with rc_context({"svg.hashsalt": "bandit"}):
        figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main(words: list[str] | None = None) -> list[dict]:
    """Compare, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--steps", type=int, default=30, help="vector steps of learning")
    parser.add_argument("--random-steps", type=int, default=15, help="vector steps of random choice")
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="verifications at once")
    parser.add_argument("--record", help="a folder for the runs, one a policy and seed")
    parser.add_argument("--json", help="write every episode's choice and reward there")
    parser.add_argument("--picture", help="draw the learning curves there (needs matplotlib)")
    options = parser.parse_args(words)
    with LocalEngine(workers=options.workers) as engine:
        engine.start()
        results = [compare(seed, engine, options) for seed in options.seeds]
    won = sum(r["bandit"]["reward"] > r["random"]["reward"] for r in results)
    print(f"learning beats random on {won} of {len(results)} seeds")
    if options.json:
        facts = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
        Path(options.json).write_text(json.dumps(facts | {"results": results}) + "\n")
    if options.picture:
        draw(results, options.picture)
    return results


if __name__ == "__main__":
    main()
