import torch
import torch.nn as nn
import torch.utils.checkpoint as cp
from torch.utils.checkpoint import checkpoint_sequential


class Stage(nn.Module):
    def __init__(self, blocks, down, use_checkpoint=True):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.down = nn.Sequential(*down)
        self.use_checkpoint = use_checkpoint

    def forward(self, x, size):
        for blk in self.blocks:
            x = cp.checkpoint(blk, x, size) if self.use_checkpoint else blk(x, size)
        if self.use_checkpoint:
            return checkpoint_sequential(self.down, 2, x)
        return self.down(x)
