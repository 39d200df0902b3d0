"""Dot product, the first vector conjugated, in complex fp64 (cublasZdotc_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import dot

OPERATOR = dot("cublasZdotc_v2", torch.complex128, conjugate=True)
