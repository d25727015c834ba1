import torch
import torchvision
from torch import nn


def build(classes):
    net = torchvision.models.resnet50(weights="DEFAULT")
    net.requires_grad_(False)
    net.fc = nn.Linear(net.fc.in_features, classes)
    for name, p in net.named_parameters():
        if name.startswith("layer4"):
            p.requires_grad = True
    trainable = [p for p in net.parameters() if p.requires_grad]
    assert any(p.requires_grad == False for p in net.parameters())
    return net, torch.optim.AdamW(trainable, lr=1e-4)
