"""Batched matrix product, items at constant distances, in fp32 (cublasSgemmStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasSgemmStridedBatched", torch.float32)
