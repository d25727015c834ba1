import torch
import torch.nn as nn
import torch.utils.checkpoint as cp


class DenseStage(nn.Module):
    def __init__(self, layers, efficient=True):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.efficient = efficient

    def forward(self, x):
        for layer in self.layers:
            if self.efficient and x.requires_grad:
                x = cp.checkpoint(layer, x)
            else:
                x = layer(x)
        return x
