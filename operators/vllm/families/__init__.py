"""Builders and grids that several `vllm` operators share."""
