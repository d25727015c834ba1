from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

remat = partial(checkpoint, use_reentrant=False)


class Encoder(nn.Module):
    def __init__(self, blocks, remat_every=2):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.remat_every = remat_every

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            if self.training and i % self.remat_every == 0:
                x = remat(block, x)
            else:
                x = block(x)
        return x
