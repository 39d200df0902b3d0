"""Scaling of a vector in fp32 (cublasSscal_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import scal

OPERATOR = scal("cublasSscal_v2", torch.float32)
