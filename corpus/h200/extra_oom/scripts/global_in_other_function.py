"""class: leak
cap_mib: 1000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

LOG = []


def record(value):
    LOG.append(value)


def train():
    w = torch.randn(2048, 2048, device="cuda", requires_grad=True)
    for i in range(100000):
        x = torch.randn(512, 2048, device="cuda")
        y = torch.tanh(x @ w)
        err = (y - x).pow(2).mean()  # guilty
        record(err)


train()
