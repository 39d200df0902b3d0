"""Two outer products added to a triangle in fp64 (cublasDsyr2_v2)."""

import torch

from kgb_gym.operators.cublas.families.rank import syr2

OPERATOR = syr2("cublasDsyr2_v2", torch.float64)
