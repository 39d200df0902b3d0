"""Matrices times vectors, items at constant distances, in complex fp32 (cublasCgemvStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_strided

OPERATOR = gemv_strided("cublasCgemvStridedBatched", torch.complex64)
