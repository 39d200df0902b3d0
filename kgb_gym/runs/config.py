"""What makes the results of a run comparable: a run is resumed under an equal configuration only.

How many workers and which engine carried it out is left out: it changes how long a run takes, not what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from kgb_gym.envs.budgets import Budgets
from kgb_gym.envs.reward import RewardConfig
from kgb_gym.verification.protocols import Limits

if TYPE_CHECKING:
    from kgb_gym.envs.env import Paradigm


@dataclass(frozen=True)
class RunConfig:
    """One method over a set of operators."""

    method: str
    """Name of a method, as `kgb_gym.baselines.methods.names` lists them."""
    operators: tuple[str, ...]
    """Ids, `source/name`, in the order in which they are begun."""
    suite: str
    """`paper`, `quick`, `smoke` or `wide`."""
    platform: str
    """A name of `kgb_gym.platforms.PLATFORMS`."""
    seed: int = 0
    """Every episode's seed derives from it."""
    samples: int = 1
    """Independent episodes of each operator."""
    early_stop: bool = False
    """An operator's samples are drawn one after the other, until one is a clean pass (Appendix E)."""
    prompt: Paradigm = "auto"
    """`sampling`, `agentic`, or `auto`: by the budgets."""
    targets: tuple[str, ...] = ()
    """Chips for which what is right is compiled as well (see `verification.targets`)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the policy, by name: JSON values. Never a key: they are recorded."""
    budgets: Budgets = field(default_factory=Budgets)
    reward: RewardConfig = field(default_factory=RewardConfig)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")
        if not self.operators:
            raise ValueError("a run needs at least one operator")
        if len(set(self.operators)) != len(self.operators):
            raise ValueError("an operator is named twice")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data, the version of the judge included."""
        return {
            **asdict(self),
            "operators": list(self.operators),
            "targets": list(self.targets),
            "kgb_gym": version("kgb-gym"),
        }
