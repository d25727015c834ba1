"""class: leak
cap_mib: 900
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

cache = {}
proj = nn.Linear(1024, 1024).cuda()
with torch.inference_mode():
    for key in range(100000):
        x = torch.randn(1024, 1024, device="cuda")
        h = proj(x).relu()  # guilty
        cache[key] = h
        norm = h.norm()
