"""Dot product in complex fp32 (cublasCdotu_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import dot

OPERATOR = dot("cublasCdotu_v2", torch.complex64)
