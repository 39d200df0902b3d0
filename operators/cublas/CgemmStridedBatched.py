"""Batched matrix product in complex fp32, items at constant distances (cublasCgemmStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasCgemmStridedBatched", torch.complex64)
