"""Sum of magnitudes in fp64 (cublasDasum_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import asum

OPERATOR = asum("cublasDasum_v2", torch.float64)
