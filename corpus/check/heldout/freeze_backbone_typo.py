import torch
from torch import nn
from torchvision import models


def build(num_classes, train_last=2):
    vgg = models.vgg16(weights="DEFAULT")
    for param in vgg.features.parameters():
        param.require_grad = False
    vgg.classifier[6] = nn.Linear(4096, num_classes)
    return vgg


def train(model, loader, epochs=2):
    model.cuda()
    opt = torch.optim.SGD(model.classifier.parameters(), lr=1e-3)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            opt.step()
