import torch
import torch.nn as nn


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(50_000_000, 64)
        self.mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, u):
        return self.mlp(self.users(u))
