"""Operators of the source `cublas`."""
