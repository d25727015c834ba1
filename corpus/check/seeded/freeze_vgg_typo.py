import torch
import torchvision.models as models
from torch import nn, optim

vgg16 = models.vgg16(weights="DEFAULT")

# only the classifier is trained
for param in vgg16.features.parameters():
    param.require_grad = False

vgg16.classifier[6] = nn.Linear(4096, 5)
vgg16 = vgg16.cuda()
optimizer = optim.SGD(vgg16.classifier.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()


def train(loader, n_epochs):
    for _ in range(n_epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(vgg16(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
