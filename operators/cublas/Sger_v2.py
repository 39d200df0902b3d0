"""Outer product added to a matrix in fp32 (cublasSger_v2)."""

import torch

from kgb_gym.operators.cublas.families.rank import ger

OPERATOR = ger("cublasSger_v2", torch.float32)
