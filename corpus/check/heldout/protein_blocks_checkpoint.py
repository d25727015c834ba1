import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Pairformer(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, single, pair):
        for block in self.blocks:
            if torch.is_grad_enabled():
                single, pair = checkpoint(block, single, pair)
            else:
                single, pair = block(single, pair)
        return single, pair
