"""Prompts: modules of the paper's Table 5, composed by source and paradigm for one operator and platform.

They show the specification, the rules and the visible grid; never a gold kernel, never a hidden case.
"""

from kgb_gym.prompts.compose import MODULES, SCENARIOS, render, scenario, single_step, spec

__all__ = ["MODULES", "SCENARIOS", "render", "scenario", "single_step", "spec"]
