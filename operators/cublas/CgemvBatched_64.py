"""Matrices times vectors, items by pointers, with 64-bit sizes, in complex fp32 (cublasCgemvBatched_64)."""

import torch

from kgb_gym.operators.cublas.families.gemv import gemv_batched

OPERATOR = gemv_batched("cublasCgemvBatched_64", torch.complex64)
