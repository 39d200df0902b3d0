"""Batched matrix product, items by pointers, in complex fp64 (cublasZgemmBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemm import gemm_batched

OPERATOR = gemm_batched("cublasZgemmBatched", torch.complex128)
