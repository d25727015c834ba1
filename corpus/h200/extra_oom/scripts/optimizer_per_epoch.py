"""class: leak
cap_mib: 1500
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)).cuda()
optimizers = []
for epoch in range(1000):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for i in range(3):
        x = torch.randn(64, 2048, device="cuda")
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()  # guilty
    optimizers.append(opt)
