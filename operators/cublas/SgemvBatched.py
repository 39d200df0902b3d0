"""Matrices times vectors, items by pointers, in fp32 (cublasSgemvBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_batched

OPERATOR = gemv_batched("cublasSgemvBatched", torch.float32)
