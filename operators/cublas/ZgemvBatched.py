"""Matrices times vectors, items by pointers, in complex fp64 (cublasZgemvBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_batched

OPERATOR = gemv_batched("cublasZgemvBatched", torch.complex128)
