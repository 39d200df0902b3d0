"""`KernelEnv`: one operator to be written as Triton kernels, one action a step.

A step begins (`begin`: read the action, ask the engine) and completes (`complete`: wait, score, record). The scalar
environment does one after the other; the vector environment begins all before it completes any.
"""

from __future__ import annotations

import copy
import fnmatch
import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from kgb_gym import operators as catalog
from kgb_gym import platforms, prompts
from kgb_gym.envs import recording, splits, tokens
from kgb_gym.envs import tools as toolbox
from kgb_gym.envs.actions import Action, ActionDict, BadAction, action_space, parse
from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.episode import Episode
from kgb_gym.envs.observation import ObservationDict, describe, observation_space, observe
from kgb_gym.envs.reward import RewardConfig, RewardTerms
from kgb_gym.verdict import Stage, Status, Verdict
from kgb_gym.verification.protocols import Engine, Job, Kind, Limits
from kgb_gym.verification.targets import listed

if TYPE_CHECKING:
    from kgb_gym.datasets.recorder import Recorder

Paradigm = Literal["auto", "sampling", "agentic"]

_REWARD, _BUDGETS, _LIMITS = RewardConfig(), Budgets(), Limits()


@dataclass(frozen=True)
class Pending:
    """A step that has begun."""

    action: Action | BadAction
    started_at: datetime
    verdict: Verdict | None = None
    """Known at once: the same source was verified before in this episode."""
    future: Future[Verdict] | None = None
    text: str = ""
    """The answer, where nothing is verified."""
    error: str = ""
    """What is wrong with the action, where it can't be done."""
    key: str = ""
    """SHA-256 of a submission's source."""
    late: bool = False
    """The wall budget ran out before the step: nothing was done."""


@dataclass(frozen=True)
class Pool:
    """The operators that an environment may draw."""

    names: tuple[str, ...]
    title: str = field(default="", compare=False)

    @classmethod
    def of(cls, pool: str, operators: str | list[str] | tuple[str, ...] | None, split: str | None) -> Pool:
        """The operators of an id (`pool`, globs), narrowed by name and by split.

        Raises:
            UnknownOperator: a pattern matches nothing.
            ValueError: nothing remains, or there is no such split.
        """
        names = catalog.match(pool)
        if operators is not None:
            chosen = set(catalog.match(operators))
            names = tuple(n for n in names if n in chosen)
        if split is not None:
            inside = set(splits.members(split))
            names = tuple(n for n in names if n in inside)
        if not names:
            raise ValueError(f"no operator of {pool!r} is left with operators={operators!r} and split={split!r}")
        return cls(names, pool)


_PLAIN = (str, int, float, list, tuple, dict, os.PathLike, Mapping, RewardConfig, Budgets, Limits, type(None))


@dataclass(frozen=True)
class Shared:
    """Something that copies of a spec share: Gymnasium copies specs deeply, and engines hold processes."""

    value: Any

    def __deepcopy__(self, memo: Any) -> Shared:
        return self


class KernelEnv(gymnasium.Env[ObservationDict, ActionDict]):
    """Write Triton kernels that replace an operator. See DESIGN section 9 and `kgb_gym.submit`, `kgb_gym.call`.

    `info` holds, at every step: `operator`, `suite`, `platform`, `action`, `verdict` (a `Verdict`, or None), `clean`
    (of the episode so far), `reward_terms` by name, `reward_valid`, `score` (what the rewards so far add up to),
    `tokens` and `tokens_source` of the step, `turn`, `submission` and `error` (what was wrong with the action).
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        pool: str = "*",
        *,
        suite: str = "auto",
        platform: str = "auto",
        operators: str | list[str] | tuple[str, ...] | None = None,
        split: str | None = None,
        reward: RewardConfig | Mapping[str, Any] = _REWARD,
        budgets: Budgets | Mapping[str, Any] = _BUDGETS,
        record: str | os.PathLike[str] | Recorder | None = None,
        engine: Engine | None = None,
        render_mode: str | None = None,
        limits: Limits | Mapping[str, Any] = _LIMITS,
        prompt: Paradigm = "auto",
        targets: Sequence[str] = (),
    ) -> None:
        """
        Args:
            pool: globs of the operators that this id stands for; set by registration.
            suite: `paper`, `quick`, `smoke`, `wide`; `auto` is the platform's.
            platform: `nvidia`, `cpu`, …; `auto` is what this machine has.
            operators: globs that narrow the pool.
            split: `train`, `validation` or `test`: narrows the pool to one split.
            reward: the weights; a mapping of fields is accepted, as from a stored spec.
            budgets: what an episode may use.
            record: a run folder in which every step is written before `step` returns; or a recorder to share, which
                stays open when the environment is closed.
            engine: what verifies. By default one engine shared by all environments of this process; one that is
                given stays open when the environment is closed.
            render_mode: `ansi` or None.
            limits: of one verification.
            prompt: `sampling` (write it in one go) or `agentic` (tools and workflow explained); `auto`: `sampling`
                where the budgets allow a single submission.
            targets: chips (`cuda:80`, `hip:gfx942`, …; `portable` for five) for which submissions that are right are
                compiled as well; how portable they are is recorded, and scores nothing.

        Raises:
            UnknownOperator: a pattern matches nothing.
            ValueError: an argument is out of range, no operator is left, or the platform offers one of them not.
        """
        record = record.value if isinstance(record, Shared) else record
        engine = engine.value if isinstance(engine, Shared) else engine
        self._spec: EnvSpec | None = None
        self.platform = platforms.get(platform)
        self.suite = self.platform.default_suite if suite == "auto" else suite
        if self.suite not in catalog.SUITES:
            raise ValueError(f"unknown suite {suite!r}: use auto, {', '.join(catalog.SUITES)}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"unknown render_mode {render_mode!r}: use ansi or None")
        if prompt not in ("auto", "sampling", "agentic"):
            raise ValueError(f"unknown prompt {prompt!r}: use auto, sampling or agentic")
        self.render_mode = render_mode
        self.pool = Pool.of(pool, operators, split)
        for source in dict.fromkeys(n.partition("/")[0] for n in self.pool.names):
            if why := self.platform.refuses(source):
                raise ValueError(f"no {source} operator on {self.platform.name}: {why}")
        self.reward = reward if isinstance(reward, RewardConfig) else RewardConfig(**reward)
        self.budgets = budgets if isinstance(budgets, Budgets) else Budgets(**budgets)
        self.limits = limits if isinstance(limits, Limits) else Limits(**limits)
        self.targets = listed(targets)
        self.agentic = prompt == "agentic" or (prompt == "auto" and self.budgets.max_submissions > 1)
        self.action_space = action_space()
        self.observation_space = observation_space(self.budgets)
        self.setting = recording.Setting(self.suite, self.platform.name, self.reward, self.budgets, self.limits)
        self._engine = engine
        self._owns_recorder = isinstance(record, (str, os.PathLike))
        self._recorder: Recorder | None = (
            recording.open_recorder(record, self.setting) if isinstance(record, (str, os.PathLike)) else record
        )
        self._episode: Episode | None = None
        self._closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObservationDict, dict[str, Any]]:
        """Begin an episode. One in progress is abandoned, and recorded if it has steps.

        Args:
            seed: as for every Gymnasium environment.
            options: `operator` names one of the pool; `record` maps columns of the record to what the caller knows of
                the episode: `method`, `model`, `synthetic`, `sample`, `samples`, `rounds`, `early_stop`, `episode_id`.

        Raises:
            UnknownOperator: there is no operator of that name.
            ValueError: it is not in the pool, or an option is unknown.
        """
        if self._closed:
            raise ClosedEnvironmentError("this environment is closed: make a new one")
        super().reset(seed=seed)
        options = dict(options or {})
        named, about = options.pop("operator", None), dict(options.pop("record", None) or {})
        if options:
            raise ValueError(f"unknown reset options: {', '.join(sorted(options))}; known: operator, record")
        if unknown := sorted(set(about) - set(recording.ABOUT)):
            raise ValueError(f"options['record']: unknown {', '.join(unknown)}; known: {', '.join(recording.ABOUT)}")
        drawn = int(self.np_random.integers(len(self.pool.names)))
        episode_seed = int(self.np_random.integers(1 << 63, dtype="uint64"))
        operator = catalog.get(self.pool.names[drawn] if named is None else named)
        if operator.id not in self.pool.names:
            raise ValueError(f"{operator.id} is not among the {len(self.pool.names)} operators of this environment")
        self._abandon()
        about.setdefault("env_id", self.spec.id if self.spec is not None else operator.env_id)
        text = prompts.render(
            operator,
            self.platform,
            self.suite,
            agentic=self.agentic,
            tools=tuple(t.schema() for t in toolbox.TOOLS.values()) if self.agentic else (),
        )
        episode = Episode(operator, episode_seed, text, "", about)
        if "episode_id" in about:
            episode.id = str(about["episode_id"])
        left = episode.left(self.budgets)
        episode.message = f"{text.rstrip()}\n\n{left}"
        self._episode = episode
        return observe(text, None, episode.message, left), self._info(episode, "", None, RewardTerms(), True, None, "")

    def step(self, action: ActionDict) -> tuple[ObservationDict, float, bool, bool, dict[str, Any]]:
        """Submit code or call a tool, and wait for what comes of it.

        A bad action (wrong types, unknown tool, bad arguments) costs a turn and is answered with what is wrong.

        Raises:
            ResetNeeded: the episode is over, or none was begun.
            InvalidAction: `action` is no action at all; the episode goes on.
        """
        return self.complete(self.begin(action))

    def begin(self, action: ActionDict) -> Pending:
        """The first half of `step`: everything up to waiting for the engine."""
        episode = self.running()
        started = datetime.now(UTC)
        parsed = parse(action)
        if episode.elapsed_s >= self.budgets.wall_s:
            return Pending(parsed, started, error="The wall-clock budget is used up; nothing was done.", late=True)
        if isinstance(parsed, BadAction):
            return Pending(parsed, started, error=f"This action was not understood: {parsed.error}")
        if parsed.kind == "submit":
            return self._begin_submission(episode, parsed, started)
        return self._begin_call(episode, parsed, started)

    def complete(self, pending: Pending) -> tuple[ObservationDict, float, bool, bool, dict[str, Any]]:
        """The second half of `step`: wait for the verdict, score it, record it."""
        episode = self.running()
        action, verdict = pending.action, pending.verdict
        if pending.future is not None:
            verdict = self._result(pending.future, episode, action)
        reward_valid = verdict is None or verdict.reward_valid
        source = action.transcript.get("usage_source")
        spent = tokens.spent(action.usage, episode.message, action.written, source)
        episode.turns += 1
        episode.tokens += spent.total
        before = episode.score
        episode.score, terms = before.after(self.reward, verdict, spent.total)
        if verdict is not None and verdict.kind == "verify" and reward_valid:
            episode.submissions += 1
            episode.verdicts.setdefault(pending.key, verdict)
            episode.clean = episode.clean or verdict.clean
            if episode.best is None or episode.score.best > before.best:
                episode.best = verdict
        terminated = (
            action.finish
            or (isinstance(action, Action) and action.tool == "finish" and not pending.error)
            or episode.submissions >= self.budgets.max_submissions
            or (self.budgets.stop_on_clean and episode.clean)
        )
        left = episode.left(self.budgets)
        spent_all = pending.late or episode.elapsed_s >= self.budgets.wall_s or not left.turns or not left.tokens
        truncated = not terminated and spent_all
        episode.over = terminated or truncated
        message = self._message(episode, pending, verdict, truncated)
        episode.message = message
        self._record(episode, recording.Step(
            action, verdict, terms, reward_valid, spent, message, terminated, truncated, pending.started_at
        ))  # fmt: skip
        observation = observe(episode.prompt, verdict, message, left)
        kind = "bad" if isinstance(action, BadAction) else action.kind
        info = self._info(episode, kind, verdict, terms, reward_valid, spent, pending.error)
        return observation, terms.total, terminated, truncated, info

    def render(self) -> str | None:
        """With `ansi`: the operator, the score and what was last shown to the policy."""
        if self.render_mode is None:
            return None
        if self._episode is None:
            return f"{self.pool.title}: no episode yet\n"
        e = self._episode
        head = f"{e.operator.id} ({self.suite} on {self.platform.name}), turn {e.turns}, "
        return f"{head}score {e.score.total(self.reward):.3f}\n{e.message if e.turns else e.left(self.budgets)}\n"

    def close(self) -> None:
        """Record an episode in progress, and close what this environment opened. May be called twice."""
        self._abandon()
        if self._owns_recorder and self._recorder is not None:
            self._recorder.close()
        self._recorder, self._closed = None, True
        super().close()

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that this environment was made from. Copies of it share the engine and the recorder."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec = copy.copy(spec)
            spec.kwargs = {k: v if isinstance(v, _PLAIN) else Shared(v) for k, v in spec.kwargs.items()}
        self._spec = spec

    def share_recorder(self, recorder: Recorder | None) -> None:
        """Record through a recorder of someone else's, who closes it. For before the first reset."""
        self._recorder = recorder

    def running(self) -> Episode:
        """The episode in progress.

        Raises:
            ResetNeeded: there is none.
        """
        if self._episode is None or self._episode.over:
            raise ResetNeeded("the episode is over: call reset()" if self._episode else "call reset() before step()")
        return self._episode

    def _begin_submission(self, episode: Episode, action: Action, started: datetime) -> Pending:
        source = encode(action.code)
        key = hashlib.sha256(source).hexdigest()
        if (known := episode.verdicts.get(key)) is not None:
            return Pending(
                action, started, verdict=known, text="This source was judged before; its verdict stands.", key=key
            )
        return Pending(action, started, future=self._ask(episode, source, "verify", targets=self.targets), key=key)

    def _begin_call(self, episode: Episode, action: Action, started: datetime) -> Pending:
        tool = toolbox.find(action.tool)
        error = tool if isinstance(tool, str) else tool.check(action.arguments)
        if isinstance(tool, str) or error:
            return Pending(action, started, error=error)
        if tool.job == "compile":
            targets = listed(action.arguments.get("targets") or self.platform.compile_targets)
            future = self._ask(episode, encode(action.arguments["code"]), "compile", targets=targets)
            return Pending(action, started, future=future)
        if (script := action.arguments.get("script")) is not None:
            if "case" in action.arguments:
                return Pending(action, started, error="run takes a case or a script, not both.")
            code = encode(action.arguments["code"])
            return Pending(action, started, future=self._ask(episode, code, "run", script=script))
        if tool.job:
            given = action.arguments.get("cases", ())
            if (one := action.arguments.get("case")) is not None:
                given = (one,)
            cases, error = self._cases(episode, tool.name, tuple(given))
            if error:
                return Pending(action, started, error=error)
            return Pending(
                action, started, future=self._ask(episode, encode(action.arguments["code"]), tool.job, cases=cases)
            )
        if tool.name == "finish":
            return Pending(action, started, text="The episode ends here.")
        if action.arguments.get("what") == "cases":
            return Pending(action, started, text="\n".join(c.id for c in episode.operator.cases(self.suite)))
        return Pending(action, started, text=prompts.spec(episode.operator, self.platform, self.suite))

    def _cases(self, episode: Episode, tool: str, patterns: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Ids of the chosen cases, or what is wrong. Brackets in patterns are part of ids, not sets of characters."""
        ids = [c.id for c in episode.operator.cases(self.suite)] if patterns else []
        chosen: set[str] = set()
        for pattern in patterns:
            hits = fnmatch.filter(ids, pattern.replace("[", "[[]"))
            if not hits:
                return (), f"{tool}: no case matches {pattern[:200]!r}; `read_spec` with what='cases' lists their ids."
            chosen.update(hits)
        return tuple(i for i in ids if i in chosen), ""

    def _ask(self, episode: Episode, source: bytes, kind: Kind, **more: Any) -> Future[Verdict]:
        job = Job(
            operator=episode.operator.id,
            source=source,
            suite=self.suite,
            platform=self.platform.name,
            kind=kind,
            seed=episode.job_seed(source),
            timing=self.platform.timed and kind in ("verify", "run", "profile"),
            limits=self.limits,
            **more,
        )
        engine = self._engine
        if engine is None:
            from kgb_gym.sandbox import shared_engine

            engine = shared_engine(self.platform.name)
        try:
            return engine.submit(job)
        except Exception as error:  # noqa: BLE001  # told by `_result`: an engine that refuses must not lose the episode
            failed: Future[Verdict] = Future()
            failed.set_exception(error)
            return failed

    def _result(self, future: Future[Verdict], episode: Episode, action: Action | BadAction) -> Verdict:
        try:
            return future.result()
        except Exception as error:  # noqa: BLE001  # an engine that breaks its promise is our failure, and must not lose the episode
            kind = "verify" if not isinstance(action, Action) or action.kind == "submit" else action.tool
            return Verdict(
                operator=episode.operator.id,
                source_sha256="",
                suite=self.suite,
                platform=self.platform.name,
                stage=Stage.RECEIVED,
                status=Status.HARNESS_ERROR,
                kind=kind,
                message=f"the engine failed: {type(error).__name__}: {error}",
            )

    def _message(self, episode: Episode, pending: Pending, verdict: Verdict | None, truncated: bool) -> str:
        action = pending.action
        parts = [text for text in (pending.error, pending.text) if text]
        if verdict is not None:
            tool = action.tool if isinstance(action, Action) else ""
            number = f"Submission {episode.submissions}" if verdict.reward_valid else "Submission"
            parts.append(describe(verdict, f"Tool `{tool}`" if tool else number))
        if truncated:
            parts.append("A budget is used up: the episode ends here.")
        return "\n".join([*parts, str(episode.left(self.budgets))])

    def _info(
        self,
        episode: Episode,
        action: str,
        verdict: Verdict | None,
        terms: RewardTerms,
        reward_valid: bool,
        spent: tokens.Spent | None,
        error: str,
    ) -> dict[str, Any]:
        # The seed stays with the record: whoever trains on infos must not be able to foresee hidden cases.
        return {
            "operator": episode.operator.id,
            "suite": self.suite,
            "platform": self.platform.name,
            "action": action,
            "verdict": replace(verdict, seed=0, durations={}) if verdict is not None else None,
            "clean": episode.clean,
            "reward_terms": terms.to_dict(),
            "reward_valid": reward_valid,
            "score": episode.score.total(self.reward),
            "tokens": spent.total if spent is not None else 0,
            "tokens_source": spent.source if spent is not None else "",
            "turn": episode.turns,
            "submission": episode.submissions,
            "error": error,
        }

    def _record(self, episode: Episode, step: recording.Step) -> None:
        if self._recorder is None:
            return
        row = recording.step_row(episode, self.setting, step)
        self._recorder.step(row)
        if row.get("calibration") is not None and self._recorder.run.get("calibration") is None:
            self._recorder.calibrate({"operator": row["operator"], **row["calibration"]})
        episode.remember(row)
        if episode.over:
            self._recorder.episode(recording.episode_row(episode, self.setting))

    def _abandon(self) -> None:
        """End an episode in progress. One without steps leaves no trace: nothing happened in it."""
        episode, self._episode = self._episode, None
        if episode is None or episode.over or not episode.rows or self._recorder is None:
            return
        self._recorder.episode(recording.episode_row(episode, self.setting))


def encode(code: str) -> bytes:
    """A source as bytes. Lone surrogates are kept, as bytes that are no UTF-8: the judge calls that a syntax error."""
    return code.encode("utf-8", "surrogatepass")
