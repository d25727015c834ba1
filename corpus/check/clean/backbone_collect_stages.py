import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self, stages, out_indices=(1, 2, 3)):
        super().__init__()
        self.stages = nn.Sequential(*stages)
        self.out_indices = out_indices

    def forward(self, x):
        outs = []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i in self.out_indices:
                outs.append(x)
        return tuple(outs)
