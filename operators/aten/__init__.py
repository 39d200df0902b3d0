"""Operators of the source `aten`."""
