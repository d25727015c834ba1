"""class: request_too_large
cap_mib: 1024
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

points = torch.randn(20000, 64, device="cuda")
model = nn.Linear(64, 64).cuda()
emb = model(points)
diff = emb[:, None, :] - emb[None, :, :]  # guilty
dist = diff.norm(dim=-1)
