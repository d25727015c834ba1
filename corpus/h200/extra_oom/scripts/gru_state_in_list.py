"""class: leak
cap_mib: 1100
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(128, 512, batch_first=True)
        self.head = nn.Linear(512, 128)

    def forward(self, x, h):
        y, h = self.rnn(x, h)
        return self.head(y), h


model = Model().cuda()
opt = torch.optim.Adam(model.parameters())
h = None
for chunk in range(100000):
    x = torch.randn(32, 64, 128, device="cuda")
    out, h = model(x, h)  # guilty
    loss = F.mse_loss(out, x)
    opt.zero_grad()
    if chunk % 1000 == 999:
        loss.backward()
        opt.step()
