"""What a platform is: where kernels run, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Platform:
    """One kind of device."""

    name: str
    device: str
    """Torch's device type: `cpu`, `cuda`."""
    dispatch_key: str
    """The dispatcher key at which ATen submissions are mounted."""
    default_suite: str
    """`quick` where kernels are interpreted, `paper` where they are timed."""
    timed: bool
    """Whether device time can be measured here."""
    interpreted: bool
    """Whether kernels run in Triton's interpreter."""
    layers: tuple[str, ...]
    """Trust layers that work here."""
    compile_targets: tuple[str, ...] = ("sm_90",)
    """What every launched function is compiled for ahead of time where kernels are interpreted."""
    widen: Mapping[str, float] = field(default_factory=dict)
    """Factor on both gates' tolerances by dtype name; absent: 1."""
    noun: str = "GPU"
    """What the prompt calls the hardware."""
    notes: tuple[str, ...] = ()
    """Device-specific constraints for the prompt."""
