"""Batched matrix product, items at constant distances, in fp64 (cublasDgemmStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasDgemmStridedBatched", torch.float64)
