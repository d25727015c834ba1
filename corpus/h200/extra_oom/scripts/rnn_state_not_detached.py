"""class: leak
cap_mib: 1000
"""
import torch
import torch.nn as nn
import torch.nn.functional as F



class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(512, 512)
        self.out = nn.Linear(512, 64)

    def forward(self, x, state):
        state = self.cell(x, state)
        return self.out(state), state


rnn = Rnn().cuda()
state = torch.zeros(1024, 512, device="cuda")
for t in range(100000):
    x = torch.randn(1024, 512, device="cuda")
    logits, state = rnn(x, state)  # guilty
    score = logits.mean()
