"""Matrices times vectors, items by pointers, in fp64 (cublasDgemvBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_batched

OPERATOR = gemv_batched("cublasDgemvBatched", torch.float64)
