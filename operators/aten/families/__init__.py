"""Builders and grids that several `aten` operators share."""
