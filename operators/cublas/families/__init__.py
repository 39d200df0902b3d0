"""Builders and grids that several `cublas` operators share."""
