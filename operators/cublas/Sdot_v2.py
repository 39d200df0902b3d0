"""Dot product in fp32 (cublasSdot_v2)."""

import torch

from kgb_gym.operators.cublas.families.vectors import dot

OPERATOR = dot("cublasSdot_v2", torch.float32)
