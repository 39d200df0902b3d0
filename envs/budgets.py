"""What one episode may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budgets:
    """Limits of one episode. Running out of submissions ends it (`terminated`); of anything else truncates it."""

    max_submissions: int = 10
    """Full verifications; the same source again counts again. 1 is Pass@1; a reflection method sets its rounds."""
    max_turns: int = 40
    """Steps of any kind: submissions, tool calls, actions that could not be understood."""
    max_tokens: int = 2_000_000
    """Prompt and completion tokens together; the paper's agents use 1.3 million an operator on average (Table 4)."""
    wall_s: float = 1800.0
    """Wall seconds since reset: the paper's 30 minutes. Looked at before and after a step, never during one."""
    stop_on_clean: bool = False
    """End the episode at the first clean pass, as Pass@k and reflection do; training leaves room to get faster."""

    def __post_init__(self) -> None:
        for name in ("max_submissions", "max_turns", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.wall_s > 0:
            raise ValueError(f"wall_s must be positive, got {self.wall_s}")
