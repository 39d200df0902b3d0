"""Symmetric matrix times vector in complex fp32 (cublasCsymv_v2)."""

import torch

from kgb_gym.operators.cublas.families.symmetric import symv

OPERATOR = symv("cublasCsymv_v2", torch.complex64)
