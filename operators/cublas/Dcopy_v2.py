"""Copy of a vector in fp64 (cublasDcopy_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import copy

OPERATOR = copy("cublasDcopy_v2", torch.float64)
