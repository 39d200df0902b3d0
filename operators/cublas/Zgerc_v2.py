"""Outer product, the second vector conjugated, added to a matrix in complex fp64 (cublasZgerc_v2)."""

import torch

from kgb_gym.operators.cublas.families.rank import ger

OPERATOR = ger("cublasZgerc_v2", torch.complex128, conjugate=True)
