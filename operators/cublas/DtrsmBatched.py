"""Triangular solve, items by pointers, in fp64 (cublasDtrsmBatched)."""

import torch

from kgb_gym.operators.cublas.families.triangular import trsm_batched

OPERATOR = trsm_batched("cublasDtrsmBatched", torch.float64)
