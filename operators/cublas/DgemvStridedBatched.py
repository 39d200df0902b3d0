"""Matrices times vectors, items at constant distances, in fp64 (cublasDgemvStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_strided

OPERATOR = gemv_strided("cublasDgemvStridedBatched", torch.float64)
