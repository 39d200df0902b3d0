"""What the metrics are, as frozen values. Rates are shares in [0, 1]; None means that it cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class GroupKey:
    """What may be pooled: one method and model on one suite and platform."""

    method: str
    model: str | None
    suite: str
    platform: str

    @property
    def label(self) -> str:
        """As the paper labels a row: `Method (Model)`."""
        return f"{self.method} ({self.model})" if self.model else self.method


@dataclass(frozen=True)
class OperatorResult:
    """What became of one operator over all its samples."""

    operator: str
    source: str
    clean: bool
    clean_paper: bool
    outcome: str
    """`passed`, or the status of the best submission of the last scored sample."""
    samples: tuple[bool, ...]
    """Whether each scored sample was a clean pass, in the order drawn."""
    early_stop: bool
    speedup: float | None
    """S_i of the first clean sample over the paper's timed cases that are not launch-bound."""
    comparable: bool | None
    hacks: int
    """Submissions that were hacks."""
    tokens: int
    wall_s: float
    similarity: float | None
    """Code similarity between rounds."""
    data_dependent: bool = False
    """Timed by the call itself, as launches depend on values."""
    compiles: Mapping[str, bool] = field(default_factory=dict)
    """Whether the clean kernels compile for each chip they were compiled for; empty where nothing is launched."""

    @property
    def portable(self) -> bool | None:
        """Whether they compile for all of several chips; None where fewer than two were tried."""
        return all(self.compiles.values()) if len(self.compiles) > 1 else None


@dataclass(frozen=True)
class Summary:
    """The metrics over the operators of one source, or of all (`overall`)."""

    attempted: int
    """Operators with at least one scored sample: the denominator of every rate."""
    passed: int
    clean_pass_rate: float | None
    clean_paper_rate: float | None
    pass_at: Mapping[int, float | None]
    """Pass@k over independent samples; None where some operator has fewer than k samples and no pass."""
    speedup: float | None
    """Two-level geometric mean: over an operator's cases, then over operators."""
    median: float | None
    iqm: float | None
    fast: Mapping[float, float | None]
    """fast_p by p; None where nothing was timed."""
    timed: int
    """Clean operators that have a speedup here."""
    incomparable: int
    """Clean operators whose speedup is left out, as its baseline is not the real thing."""
    hacks: int
    tokens: int
    tokens_per_success: float | None
    wall_s: float
    compiles: Mapping[str, float] = field(default_factory=dict)
    """Share of the clean kernels compiled for a chip that compile, by chip."""
    portable: float | None = None
    """Share of the clean kernels that compile for all chips, of those compiled for several; None: there are none."""
    compiled: int = 0
    """How many clean operators were compiled for several chips: the denominator."""


@dataclass(frozen=True)
class Unscored:
    """An episode that tells nothing: the harness failed, or its process died before it ended. One that
    the run has played again, to its end, is not among them."""

    episode_id: str
    operator: str
    reason: str


@dataclass(frozen=True)
class GroupMetrics:
    """Everything about one group."""

    key: GroupKey
    summaries: Mapping[str, Summary]
    """By source, and `overall`."""
    operators: tuple[OperatorResult, ...]
    failures: Mapping[str, int]
    """Submissions, and answers that held none, by failure pattern (Appendix K)."""
    hacks: Mapping[str, int]
    """Hacked submissions by source."""
    similarity: float | None
    """Mean over operators of the code similarity between rounds."""
    unscored: tuple[Unscored, ...] = ()


@dataclass(frozen=True)
class Metrics:
    """The metrics of one or more runs, group by group."""

    groups: tuple[GroupMetrics, ...] = ()
    synthetic_left_out: int = 0
    """Episodes of scripted policies that were not counted."""
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
