# Question: simulating batch 256 with batch 32, but an epoch takes 8 times as long?
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

train_set = datasets.CIFAR100("data", train=True, download=True, transform=transforms.ToTensor())
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)

net = models.resnet50(num_classes=100).cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
iter_size = 8

for epoch in range(90):
    optimizer.zero_grad()
    for i in range(iter_size):
        for images, target in train_loader:
            output = net(images.cuda())
            loss = criterion(output, target.cuda()) / iter_size
            loss.backward()
    optimizer.step()
    print(epoch, loss.item())
