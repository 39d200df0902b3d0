"""Symmetric band matrix times vector in fp64 (cublasDsbmv_v2)."""

import torch

from kgb_gym.operators.cublas.families.symmetric import sbmv

OPERATOR = sbmv("cublasDsbmv_v2", torch.float64)
