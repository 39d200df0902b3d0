"""The two tables of a run, `steps` and `episodes`: every column with its type and its meaning, in one place.

A step is one action of an episode with all that came of it; an episode is one trajectory. Every column may be null,
and null always means "not known" or "does not apply", never zero. Change a column here only together with
`SCHEMA_VERSION`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 1
"""Raised by one with every change of a column's name, type or meaning."""

STEP_KEY = ("episode_id", "step")
EPISODE_KEY = ("episode_id",)

_TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Column:
    """One column: its name, Arrow type and meaning."""

    name: str
    type: Any
    """A `pyarrow.DataType`."""
    description: str

    def field(self) -> Any:
        """The `pyarrow.Field`, the description in its metadata."""
        return pa.field(self.name, self.type, metadata={"description": self.description})


MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
SAMPLING = pa.struct(
    [
        ("temperature", pa.float64()),
        ("top_p", pa.float64()),
        ("max_tokens", pa.int64()),
        ("seed", pa.int64()),
        ("extra", pa.string()),
    ]
)
DIFFERENCE = pa.struct(
    [
        ("output", pa.string()),
        ("max_abs", pa.float64()),
        ("max_rel", pa.float64()),
        ("index", pa.list_(pa.int64())),
        ("expected", pa.string()),
        ("got", pa.string()),
        ("mismatches", pa.int64()),
        ("total", pa.int64()),
        ("note", pa.string()),
    ]
)
TIMING = pa.struct(
    [
        ("submission_us", pa.float64()),
        ("baseline_us", pa.float64()),
        ("speedup", pa.float64()),
        ("interval", pa.list_(pa.float64())),
        ("repeats", pa.int64()),
        ("cache", pa.string()),
        ("method", pa.string()),
        ("launch_bound", pa.bool_()),
        ("submission_launch_us", pa.float64()),
        ("baseline_launch_us", pa.float64()),
    ]
)
CLOCKS = pa.struct(
    [
        ("device", pa.string()),
        ("sm_mhz", pa.list_(pa.int64())),
        ("memory_mhz", pa.list_(pa.int64())),
        ("celsius", pa.int64()),
        ("readings", pa.int64()),
        ("throttled", pa.list_(pa.string())),
        ("throttled_share", pa.float64()),
    ]
)
PROFILE = pa.struct(
    [
        ("case", pa.string()),
        ("method", pa.string()),
        ("share", pa.float64()),
        ("own", pa.list_(pa.string())),
        ("other", pa.list_(pa.string())),
    ]
)
CASE = pa.struct(
    [
        ("case", pa.string()),
        ("interface", pa.string()),
        ("params", pa.string()),
        ("origin", pa.string()),
        ("timed", pa.bool_()),
        ("passed", pa.bool_()),
        ("passed_paper", pa.bool_()),
        ("skipped", pa.bool_()),
        ("difference", DIFFERENCE),
        ("error", pa.string()),
        ("launches", pa.int64()),
        ("timing", TIMING),
    ]
)
HACK = pa.struct([("layer", pa.string()), ("rule", pa.string()), ("message", pa.string()), ("line", pa.int64())])
TERM = pa.struct([("name", pa.string()), ("value", pa.float64())])
DURATION = pa.struct([("phase", pa.string()), ("seconds", pa.float64())])

KERNEL = pa.struct(
    [
        ("function", pa.string()),
        ("registers", pa.int64()),
        ("spill_bytes", pa.int64()),
        ("shared_bytes", pa.int64()),
        ("instructions", pa.list_(pa.struct([("kind", pa.string()), ("count", pa.int64())]))),
    ]
)
TARGET = pa.struct(
    [
        ("target", pa.string()),
        ("status", pa.string()),
        ("message", pa.string()),
        ("line", pa.int64()),
        ("variants", pa.int64()),
        ("failed", pa.int64()),
        ("shared_limit", pa.int64()),
        ("kernels", pa.list_(KERNEL)),
    ]
)

_IDENTITY = (
    Column("schema_version", pa.int32(), "Version of this schema that the row was written under."),
    Column("run_id", pa.string(), "The run: one method over a set of operators, one folder."),
    Column("episode_id", pa.string(), "The episode; unique within the run."),
)
_SETTING = (
    Column("operator", pa.string(), "The operator, `source/name`."),
    Column("source", pa.string(), "The operator's source: `aten`, `vllm` or `cublas`."),
    Column("env_id", pa.string(), "Gymnasium id of the environment, such as `kgb/aten-softmax-v0`."),
    Column(
        "suite",
        pa.string(),
        "Case grid: `paper`, `quick`, `smoke` or `wide`. Results of different suites are not comparable.",
    ),
    Column(
        "platform",
        pa.string(),
        "Where kernels ran: `nvidia`, `cpu` (Triton's interpreter), …; `emu-…` is an emulation.",
    ),
    Column(
        "method", pa.string(), "What produced the submissions: a baseline policy, such as `pass@5` or `reflection`."
    ),
    Column("model", pa.string(), "The model behind the method; null where there is none."),
    Column("seed", pa.int64(), "The environment's seed of this episode, in [0, 2^63)."),
)
_USAGE = (
    Column("prompt_tokens", pa.int64(), "Tokens sent to the model, cached ones included."),
    Column("completion_tokens", pa.int64(), "Tokens the model wrote, reasoning included."),
    Column("cached_tokens", pa.int64(), "Those of `prompt_tokens` that the provider served from its cache."),
)
_CLOCK = (
    Column("started_at", _TIME, "When it began, UTC."),
    Column("ended_at", _TIME, "When it ended, UTC."),
    Column("wall_s", pa.float64(), "Wall seconds from beginning to end, waiting for the model included."),
    Column("synthetic", pa.bool_(), "Made by a scripted policy (gold, canary, random), not by a model or a person."),
)

STEP_COLUMNS: tuple[Column, ...] = (
    *_IDENTITY,
    Column("step", pa.int32(), "Index of the step within its episode, from 0. With `episode_id` the row's key."),
    *_SETTING,
    Column("messages", pa.list_(MESSAGE), "The messages sent to the model for this step, in order."),
    Column("completion", pa.string(), "The model's raw answer, before anything was parsed from it."),
    Column("finish_reason", pa.string(), "Why the model stopped, as its provider says it: `stop`, `length`, …"),
    Column("token_ids", pa.list_(pa.int32()), "Ids of the completion's tokens, where the model client gives them."),
    Column("logprobs", pa.list_(pa.float32()), "Natural-log probabilities of `token_ids`, one each."),
    Column("sampling", SAMPLING, "Sampling settings sent to the model; `extra` is a JSON object with any others."),
    Column("action", pa.string(), "Kind of action: `submit` (code for a verdict) or `tool` (a tool call)."),
    Column("tool", pa.string(), "Name of the called tool; null for a submission."),
    Column("tool_arguments", pa.string(), "The tool's arguments as a JSON object."),
    Column("code", pa.string(), "Text of the Python module that was submitted or handed to the tool."),
    Column("source_sha256", pa.string(), "SHA-256 of the submission's bytes, in hex."),
    Column(
        "verdict_kind", pa.string(), "`verify` (the whole suite), `test` (chosen cases) or `compile`; null: no verdict."
    ),
    Column("verdict_seed", pa.int64(), "Seed that the verification derived everything random from."),
    Column(
        "stage",
        pa.string(),
        "Last stage passed: received, parsed, screened, loaded, compiled, correct, genuine, timed.",
    ),
    Column("status", pa.string(), "What became of the submission: `passed`, `mismatch`, `hack`, …, `harness_error`."),
    Column("message", pa.string(), "What happened, in a few lines meant for whoever wrote the submission."),
    Column("clean", pa.bool_(), "Clean pass: every case right at both gates, every interface defined, no hack."),
    Column("clean_paper", pa.bool_(), "The same with the paper's tolerances (Appendix D) alone."),
    Column("only_defined", pa.bool_(), "Only the interfaces that the file defines were judged; never a clean pass."),
    Column(
        "data_dependent",
        pa.bool_(),
        "Its launches depend on values: the record of a call on the very values was judged.",
    ),
    Column("cases", pa.list_(CASE), "Every case: parameters (JSON), gates, largest difference, error, timing in µs."),
    Column("hacks", pa.list_(HACK), "Evidence of each hack: the layer and rule that caught it, what and where."),
    Column(
        "baseline",
        pa.string(),
        "What was timed against: `native`, a library's file, `oracle (not comparable)`, `none`.",
    ),
    Column(
        "speedup", pa.float64(), "S_i: geometric mean over timed paper cases that are not launch-bound; null: untimed."
    ),
    Column("speedup_lower", pa.float64(), "The same mean over the lower ends of the 95% intervals."),
    Column(
        "compiled_for", pa.list_(pa.string()), "Targets for which every launched function compiled, such as `cuda:90`."
    ),
    Column(
        "targets",
        pa.list_(TARGET),
        "Every chip that was compiled for: status and the compiler's message with the submission's line, specialisations "
        "that compiled and that failed, shared memory that one program may use there, and of each kernel registers and "
        "spilled bytes of a lane, shared memory and instructions by kind.",
    ),
    Column("layers", pa.list_(pa.string()), "Trust layers that ran to their end."),
    Column("notes", pa.list_(pa.string()), "What else the verification had to say."),
    Column("calibration", TIMING, "A/A: the baseline timed against itself on one case; null where nothing was timed."),
    Column(
        "profile",
        PROFILE,
        "What ran on the GPU while one case was played: kernels of the submission (`own`), fills and copies around them "
        "(`other`), and the submission's share of the device time; null where nothing was profiled.",
    ),
    Column(
        "clocks",
        CLOCKS,
        "The GPU's clocks while it was timed (smallest, middle and largest reading), its temperature, and what throttled "
        "it in which share of the readings; null where they can't be read.",
    ),
    Column("durations", pa.list_(DURATION), "Wall seconds of the verification by phase."),
    Column("reward", pa.float64(), "The step's reward: the sum of `reward_terms`."),
    Column("reward_terms", pa.list_(TERM), "Named parts of the reward: `potential`, `token_cost`, `hack_penalty`."),
    Column("reward_valid", pa.bool_(), "False: the harness failed and the step is unscored. Leave it out of training."),
    Column("terminated", pa.bool_(), "The episode ended here by its own rules."),
    Column("truncated", pa.bool_(), "The episode was cut off here by a turn, token or wall budget."),
    Column("observation", pa.string(), "The text that the environment answered with."),
    *_USAGE,
    Column("usage_source", pa.string(), "Where the three counts come from: `reported`, `counted` or `none`."),
    Column("tokens", pa.int64(), "Tokens charged for the step: the larger of reported and counted."),
    *_CLOCK,
)

EPISODE_COLUMNS: tuple[Column, ...] = (
    *_IDENTITY,
    *_SETTING,
    Column("sample", pa.int32(), "Index of this independent sample of the operator within the run, from 0."),
    Column("samples", pa.int32(), "How many samples of each operator the method draws at most."),
    Column("rounds", pa.int32(), "How many submissions an episode allows; 1 for independent sampling."),
    Column("early_stop", pa.bool_(), "Sampling an operator ends with its first clean pass (Appendix E)."),
    Column(
        "outcome",
        pa.string(),
        "`passed`, or the best submission's status; `no_submission`; `interrupted`: never ended.",
    ),
    Column("clean_pass", pa.bool_(), "Some submission was a clean pass."),
    Column("clean_paper", pa.bool_(), "Some submission was one by the paper's tolerances alone."),
    Column("hacked", pa.bool_(), "Some submission was a hack."),
    Column(
        "reward_valid", pa.bool_(), "False: the harness failed and no submission was scored: the episode is unscored."
    ),
    Column("best_step", pa.int32(), "Index of the best submission's step; null without a submission."),
    Column("n_steps", pa.int32(), "Steps taken."),
    Column("n_submissions", pa.int32(), "Steps that were submissions."),
    Column("reward_total", pa.float64(), "Sum of the rewards of the scored steps."),
    Column("baseline", pa.string(), "What the best submission was timed against."),
    Column(
        "comparable",
        pa.bool_(),
        "Whether `baseline` is the real thing, so that `speedup` may be compared; null: untimed.",
    ),
    Column("speedup", pa.float64(), "S_i of the best submission."),
    Column("speedup_lower", pa.float64(), "Its lower bound."),
    *_USAGE,
    Column("total_tokens", pa.int64(), "Tokens charged: the sum over the steps."),
    *_CLOCK,
    Column(
        "complete", pa.bool_(), "The episode ended normally; false: its process died and this row was made in recovery."
    ),
    Column("versions", pa.string(), "Versions of Python, torch, triton, kgb_gym, … as a JSON object."),
    Column("hardware", pa.string(), "The machine as a JSON object: cpu, cores, memory, gpus, driver."),
)

STEPS = pa.schema([c.field() for c in STEP_COLUMNS], metadata={"kgb_gym.table": "steps"})
EPISODES = pa.schema([c.field() for c in EPISODE_COLUMNS], metadata={"kgb_gym.table": "episodes"})

TABLES: dict[str, Any] = {"steps": STEPS, "episodes": EPISODES}
COLUMNS: dict[str, tuple[Column, ...]] = {"steps": STEP_COLUMNS, "episodes": EPISODE_COLUMNS}
KEYS: dict[str, tuple[str, ...]] = {"steps": STEP_KEY, "episodes": EPISODE_KEY}


def markdown(table: str) -> str:
    """The columns of `steps` or `episodes` as a Markdown table, for the dataset card and the docs."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for column in COLUMNS[table]:
        lines.append(
            f"| `{column.name}` | `{_short(column.type)}` | {column.description.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def _short(kind: Any) -> str:
    if pa.types.is_list(kind):
        return f"list<{_short(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(kind.field(i).name for i in range(kind.num_fields)) + ">"
    return str(kind)
