"""Symmetric rank-k update in fp32 (cublasSsyrk_v2)."""

import torch

from kgb_gym.operators.cublas.families.matrices import syrk

OPERATOR = syrk("cublasSsyrk_v2", torch.float32)
