"""The paper's methods, and the policies behind those that ask a model."""

from kgb_gym.baselines.methods.catalog import Method, find, methods, names

__all__ = ["Method", "find", "methods", "names"]
