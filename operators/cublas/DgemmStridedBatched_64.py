"""Batched matrix product, items at constant distances, with 64-bit sizes, in fp64 (cublasDgemmStridedBatched_64)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasDgemmStridedBatched_64", torch.float64)
