import torch
from torch.utils.checkpoint import checkpoint_sequential


class Tower(torch.nn.Module):
    def __init__(self, *mods):
        super().__init__()
        self.seq = torch.nn.Sequential(*mods)

    def forward(self, x):
        return checkpoint_sequential(self.seq, 4, x)
