"""Matrices times vectors, items at constant distances, in fp32 (cublasSgemvStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_strided

OPERATOR = gemv_strided("cublasSgemvStridedBatched", torch.float32)
