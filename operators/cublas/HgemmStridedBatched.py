"""Batched matrix product, items at constant distances, in fp16 (cublasHgemmStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_strided

OPERATOR = gemm_strided("cublasHgemmStridedBatched", torch.float16)
