"""Outer product, not conjugated, added to a matrix in complex fp32 (cublasCgeru_v2)."""

import torch

from kgb_gym.operators.cublas.families.rank import ger

OPERATOR = ger("cublasCgeru_v2", torch.complex64)
