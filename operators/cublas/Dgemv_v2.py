"""Matrix times vector in fp64 (cublasDgemv_v2)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv

OPERATOR = gemv("cublasDgemv_v2", torch.float64)
