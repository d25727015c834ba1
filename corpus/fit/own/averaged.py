"""Classification with class weights, an averaged copy of the model, mixed precision with a scaler, and validation."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.GroupNorm(8, width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.inner(x)


model = nn.Sequential(nn.Conv2d(3, 128, 3, padding=1), *[Residual(128) for _ in range(10)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10)).cuda()
averaged = copy.deepcopy(model).eval().requires_grad_(False)
criterion = nn.CrossEntropyLoss(weight=torch.linspace(0.5, 2, 10).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scaler = torch.amp.GradScaler("cuda")
data = TensorDataset(torch.randn(1500, 3, 32, 32), torch.randint(0, 10, (1500,)))
training, validation = DataLoader(data, batch_size=256, shuffle=True), DataLoader(data, batch_size=256)
for epoch in range(2):
    model.train()
    for images, labels in training:
        images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for mean, current in zip(averaged.parameters(), model.parameters()):
                mean.lerp_(current, 0.01)
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in validation:
            right += (averaged(images.cuda()).argmax(1) == labels.cuda()).sum().item()
