"""An agent as a policy: its program works in the background, and what it asks `verify` becomes the episode's steps.

`act` waits until the agent asks, ends, or has no time left. Then its kernel is submitted, unless it is what was
submitted last. Everything goes through the environment's public interface; the judge is never within the agent's reach.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgb_gym import prompts
from kgb_gym.baselines.agents.bridge import Asked, Bridge
from kgb_gym.baselines.agents.fence import NOT_STARTED
from kgb_gym.baselines.agents.launch import Reach, Running, check_fence, environment
from kgb_gym.baselines.agents.proxy import CountingProxy
from kgb_gym.baselines.agents.spec import PROMPT, Instructions, Program, Setting, checkout_error
from kgb_gym.baselines.agents.usage import since
from kgb_gym.baselines.agents.workspace import KERNEL, Workspace
from kgb_gym.baselines.models.errors import MissingProgram
from kgb_gym.envs.actions import MAX_COMPLETION, ActionDict, call, submit
from kgb_gym.envs.observation import ObservationDict
from kgb_gym.envs.tokens import Usage
from kgb_gym.operators import get

POLL_S = 0.05


@dataclass(frozen=True)
class Agent:
    """Which agent, on which model, with what within its reach."""

    program: Program
    reach: Reach
    model: str
    provider: str
    upstream: str
    """The model server's base URL, without `/v1`."""
    key: str | None
    """Never shown to the agent. None: it has a log-in of its own, in a variable that is passed on."""
    wall_s: float
    """Wall seconds of one episode."""
    max_tokens: int = 16384
    """Tokens of one answer."""
    instructions: Instructions | None = None
    checkout: Path | None = None
    """A folder with these instructions."""

    def check(self) -> None:
        """Whether it can be started at all.

        Raises:
            MissingProgram: something is missing, and the message says what.
        """
        if self.provider not in self.program.providers:
            spoken = " or ".join(self.program.providers)
            raise MissingProgram(f"{self.program.name} speaks {spoken} to its model: give --provider {spoken}")
        if self.instructions is not None and (wrong := checkout_error(self.instructions, self.checkout)):
            raise MissingProgram(wrong)
        check_fence(self.reach)


class AgentPolicy:
    """Plays episodes by running an agent's program, one at a time."""

    synthetic = False

    def __init__(self, method: str, agent: Agent) -> None:
        """
        Raises:
            MissingProgram: the agent can't be started.
        """
        agent.check()
        self._method, self._agent = method, agent
        self._work: Work | None = None

    @property
    def method(self) -> str:
        return self._method

    @property
    def model(self) -> str | None:
        return self._agent.model

    def reset(self, operator: str, seed: int) -> None:
        """Begin an episode; the agent is started with the first `act`."""
        self.close()
        self._work = Work(self._agent, operator)

    def act(self, observation: ObservationDict, info: Mapping[str, Any]) -> ActionDict:
        """What the agent asks next; after its end, or its time, its last kernel.

        Raises:
            RuntimeError: there is no episode, or it was closed meanwhile.
            MissingProgram: its program could not be started.
            ModelRefused: the agent never had an answer, as the model's server refuses it.
            ModelUnavailable: the agent never had an answer, as the model's server gave none.
        """
        if (work := self._work) is None:
            raise RuntimeError("call reset() before act()")
        if work.running is None:
            work.start(info)
        elif work.asked is not None:
            _answer(work.asked, observation, info)
        asked = work.asked = work.next()
        if asked is None:
            return work.last()
        told = work.told()
        if asked.do == "submit":
            work.submitted = asked.code
            return submit(asked.code, **told)
        if asked.do == "read_spec":
            return call("read_spec", what=asked.what, **told)
        if asked.cases and asked.do in ("test", "profile"):
            return call(asked.do, code=asked.code, cases=list(asked.cases), **told)
        if asked.cases and asked.do == "run":
            return call("run", code=asked.code, case=asked.cases[0], **told)
        return call(asked.do, code=asked.code, **told)

    def close(self) -> None:
        """Kill the agent with all that it started, and remove its folders."""
        work, self._work = self._work, None
        if work is not None:
            work.close()


class Work:
    """One agent at work on one operator."""

    def __init__(self, agent: Agent, operator: str) -> None:
        self.running: Running | None = None
        self.asked: Asked | None = None
        """The request that waits for its answer."""
        self.submitted: str | None = None
        """What was submitted last."""
        self._agent, self._operator = agent, operator
        self._deadline = time.monotonic() + agent.wall_s
        self._secret = secrets.token_urlsafe(24)
        self._reader = agent.program.reader()
        self._counted = Usage()
        self._closing = threading.Lock()
        self._closed = False

    def start(self, info: Mapping[str, Any]) -> None:
        """Make the work folder, and start the program in it."""
        agent = self._agent
        place = (info["platform"], info["suite"])
        task = prompts.render(get(self._operator), *place, agentic=True, command=f"verify {KERNEL}")
        self._space = space = Workspace.make(task)
        self._bridge = Bridge(space.socket, self._secret)
        self._proxy = CountingProxy(agent.upstream, secret=self._secret, key=agent.key)
        prompt = PROMPT
        if agent.instructions is not None and agent.checkout is not None:
            space.add_folder(agent.checkout, agent.instructions.name)
            if agent.instructions.skills:
                space.add_folder(agent.checkout / agent.instructions.skills, ".claude/skills")
            prompt = f"{PROMPT} {agent.instructions.prompt.format(folder=agent.instructions.name)}"
        made = agent.program.call(
            Setting(agent.model, agent.provider, self._proxy.url, self._secret, prompt, agent.max_tokens)
        )
        space.add_home(made.files)
        own = {**made.environment, "KGB_VERIFY_SOCKET": str(space.socket), "KGB_VERIFY_SECRET": self._secret}
        with self._closing:
            self._check_open()
            self.running = Running.start(
                [str(agent.reach.program), *made.arguments],
                space,
                agent.reach,
                environment(space, agent.reach, own),
                [self._proxy.port],
                self._reader.feed,
            )

    def next(self) -> Asked | None:
        """What the agent asks; None once it has ended or its time has."""
        assert self.running is not None
        while True:
            self._check_open()
            try:
                return self._bridge.requests.get(timeout=POLL_S)
            except queue.Empty:
                if self.running.over or time.monotonic() >= self._deadline:
                    self._check_open()  # it may be over because it was ended since the last look
                    return None

    def last(self) -> ActionDict:
        """What the agent left, as a submission if it is none yet, else the end of the episode."""
        assert self.running is not None
        late = time.monotonic() >= self._deadline
        status = self.running.end()
        told = self.told()
        if status == NOT_STARTED and "kgb: the agent was not started" in told["completion"]:
            raise MissingProgram(told["completion"].strip().removeprefix("kgb: "))
        told["transcript"]["finish_reason"] = "wall_budget" if late else f"exit {status}"
        kernel = self._space.kernel()
        if kernel is None and self.submitted is None:
            self._proxy.raise_if_unanswered()
        if kernel is None or kernel == self.submitted:
            return call("finish", **told)
        return submit(kernel, finish=True, **told)

    def told(self) -> dict[str, Any]:
        """What was printed and used since the last step, for the record, without the secret and the folders' names."""
        assert self.running is not None
        output = self.running.take_output()[:MAX_COMPLETION]
        output = output.replace(self._secret, "(secret)").replace(str(self._space.root), "(folder)")
        # Its output tells of a turn when that is over, and the proxy leaves out what never passed it.
        heard = [u for u in (self._reader.usage, self._proxy.usage) if u is not None]
        now = max(heard, key=lambda u: u.total, default=self._counted)
        added = since(now, self._counted)
        self._counted = now
        transcript: dict[str, Any] = {"model": self._agent.model, "sampling": {"max_tokens": self._agent.max_tokens}}
        if heard:
            transcript["usage_source"] = "reported"
        return {"usage": added, "completion": output, "transcript": transcript}

    def close(self) -> None:
        """Kill what runs, and remove the folders. May be called twice, and while another thread waits in `next`."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self.running is not None:
            self.running.end()
        for part in ("_bridge", "_proxy"):
            if hasattr(self, part):
                getattr(self, part).close()
        if hasattr(self, "_space"):
            self._space.remove()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the agent was ended from outside")


def _answer(asked: Asked, observation: ObservationDict, info: Mapping[str, Any]) -> None:
    verdict = info["verdict"]
    right = verdict.status.value == "passed" if verdict is not None else not info["error"]
    more = {name: observation[name] for name in ("status", "stage", "timings")}
    if verdict is not None:
        more |= {"clean": verdict.clean, "speedup": verdict.speedup}
    asked.reply(observation["message"], 0 if right else 1, **more)
