"""Triangular band matrix times vector in fp32 (cublasStbmv_v2)."""

import torch

from kgb_gym.operators.cublas.families.triangular import tbmv

OPERATOR = tbmv("cublasStbmv_v2", torch.float32)
