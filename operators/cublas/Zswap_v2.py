"""Exchange of two vectors in complex fp64 (cublasZswap_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import swap

OPERATOR = swap("cublasZswap_v2", torch.complex128)
