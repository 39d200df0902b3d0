"""Triangular solve, items by pointers, in complex fp64 (cublasZtrsmBatched)."""

import torch

from kgb_gym.operators.cublas.families.triangular import trsm_batched

OPERATOR = trsm_batched("cublasZtrsmBatched", torch.complex128)
