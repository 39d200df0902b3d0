"""Operators of the source `vllm`."""
