"""Product with a diagonal matrix in fp32 (cublasSdgmm)."""

import torch

from kgb_gym.operators.cublas.families.matrices import dgmm

OPERATOR = dgmm("cublasSdgmm", torch.float32)
