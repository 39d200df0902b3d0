"""Matrices times vectors, items at constant distances, in complex fp64 (cublasZgemvStridedBatched)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_strided

OPERATOR = gemv_strided("cublasZgemvStridedBatched", torch.complex128)
