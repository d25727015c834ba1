"""An optimizer that calls the loss itself: L-BFGS on a convolutional network and one batch."""

import torch
import torch.nn.functional as F
from torch import nn

layers = [nn.Conv2d(1, 64, 3, padding=1), nn.Tanh()]
for _ in range(8):
    layers += [nn.Conv2d(64, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.Tanh()]
model = nn.Sequential(*layers, nn.Conv2d(64, 1, 1)).cuda()
given, wanted = torch.randn(32, 1, 128, 128, device="cuda"), torch.randn(32, 1, 128, 128, device="cuda")
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=5)
for step in range(6):

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(given), wanted)
        loss.backward()
        return loss

    print(optimizer.step(closure))
