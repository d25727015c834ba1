"""class: none
cap_mib: 4096
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

cell = nn.LSTMCell(256, 512).cuda()
opt = torch.optim.Adam(cell.parameters())
for step in range(6):
    h = c = torch.zeros(64, 512, device="cuda")
    loss = 0
    for t in range(30):
        x = torch.randn(64, 256, device="cuda")
        h, c = cell(x, (h, c))
        loss = loss + h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
