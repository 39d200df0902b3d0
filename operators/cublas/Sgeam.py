"""Sum of two matrices in fp32 (cublasSgeam)."""

import torch

from kgb_gym.operators.cublas.families.matrices import geam

OPERATOR = geam("cublasSgeam", torch.float32)
