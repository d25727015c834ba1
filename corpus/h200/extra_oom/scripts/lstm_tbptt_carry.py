"""class: leak
cap_mib: 1100
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



lstm = nn.LSTM(256, 512, num_layers=1, batch_first=True).cuda()
head = nn.Linear(512, 256).cuda()
carry = None
losses = 0.0
for chunk in range(100000):
    x = torch.randn(64, 50, 256, device="cuda")
    y, carry = lstm(x, carry)  # guilty
    loss = F.mse_loss(head(y), x)
    losses += loss.item()
