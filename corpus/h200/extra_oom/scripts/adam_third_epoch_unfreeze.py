"""class: too_big
cap_mib: 1100
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(*[nn.Linear(3072, 3072) for _ in range(6)]).cuda()
head = nn.Linear(3072, 10).cuda()
for p in model.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW(list(model.parameters()) + list(head.parameters()))
for step in range(30):
    if step == 20:
        for p in model.parameters():
            p.requires_grad_(True)
    x = torch.randn(16, 3072, device="cuda")
    y = torch.randint(0, 10, (16,), device="cuda")
    opt.zero_grad()
    loss = F.cross_entropy(head(model(x)), y)
    loss.backward()
    opt.step()  # guilty
