"""Batched matrix product, items at constant distances, in complex fp64 (cublasZgemmStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasZgemmStridedBatched", torch.complex128)
