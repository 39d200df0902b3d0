"""Copy of a vector in complex fp32 (cublasCcopy_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import copy

OPERATOR = copy("cublasCcopy_v2", torch.complex64)
