"""class: too_big
cap_mib: 900
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

cell = nn.LSTMCell(512, 1024).cuda()
opt = torch.optim.Adam(cell.parameters())


def unroll(length):
    h = c = torch.zeros(256, 1024, device="cuda")
    loss = 0
    for t in range(length):
        x = torch.randn(256, 512, device="cuda")
        h, c = cell(x, (h, c))  # guilty
        loss = loss + h.pow(2).mean()
    return loss


for length in (10, 10, 10, 10, 400):
    loss = unroll(length)
    opt.zero_grad()
    loss.backward()
    opt.step()
