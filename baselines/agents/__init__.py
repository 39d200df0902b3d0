"""Agents: programs that are installed elsewhere, driven in a fenced work folder; see docs/methods.md for the protocol."""

from kgb_gym.baselines.agents.launch import Reach, find_program
from kgb_gym.baselines.agents.policy import Agent, AgentPolicy
from kgb_gym.baselines.agents.spec import INSTRUCTIONS, PROGRAMS

__all__ = ["INSTRUCTIONS", "PROGRAMS", "Agent", "AgentPolicy", "Reach", "find_program"]
