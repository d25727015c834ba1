import torch
import torchvision
from torch import nn
from torch.utils.checkpoint import checkpoint


class Segmenter(nn.Module):
    def __init__(self, classes=5, save_memory=True):
        super().__init__()
        self.net = torchvision.models.segmentation.deeplabv3_resnet101(num_classes=classes, weights_backbone=None)
        self.save_memory = save_memory

    def _run(self, x):
        return self.net(x)["out"]

    def forward(self, x):
        if self.training and self.save_memory:
            x = x.requires_grad_()
            return checkpoint(self._run, x, use_reentrant=False)
        return self._run(x)
