"""Product with a symmetric matrix in complex fp32 (cublasCsymm_v2)."""

import torch

from kgb_gym.operators.cublas.families.symmetric import symm

OPERATOR = symm("cublasCsymm_v2", torch.complex64)
