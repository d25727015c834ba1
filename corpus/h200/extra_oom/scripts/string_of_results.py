"""class: growth
cap_mib: 1100
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

def collect(n):
    table = torch.zeros(1, 2048, device="cuda")
    for i in range(n):
        row = torch.randn(512, 2048, device="cuda").sigmoid()
        table = torch.vstack([table, row])  # guilty
    return table


collect(100000)
