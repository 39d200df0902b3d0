"""Symmetric rank-k update in complex fp32 (cublasCsyrkEx)."""

import torch

from kgb_gym.operators.cublas.families.matrices import syrk_ex

OPERATOR = syrk_ex("cublasCsyrkEx", torch.complex64)
