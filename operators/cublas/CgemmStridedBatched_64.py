"""Batched matrix product, items at constant distances, with 64-bit sizes, in complex fp32 (cublasCgemmStridedBatched_64)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasCgemmStridedBatched_64", torch.complex64)
