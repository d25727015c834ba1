"""class: fragmentation
cap_mib: 1024
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



tiles = [torch.empty(9 * 2**18, device="cuda") for _ in range(110)]
for i in range(0, 110, 2):
    tiles[i] = None
want = torch.empty(300 * 2**18, device="cuda")
