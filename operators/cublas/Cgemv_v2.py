"""Matrix times vector in complex fp32 (cublasCgemv_v2)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv

OPERATOR = gemv("cublasCgemv_v2", torch.complex64)
