import torch
from torchvision.models import resnet18

model = resnet18().cuda()
feats = []
for i in range(3):
    feats.append(model(torch.randn(8, 3, 224, 224).cuda()))
# ---
import torch
from torchvision.models import resnet18

model = resnet18().cuda()
feats = []
with torch.no_grad():
    for i in range(1000):
        feats.append(model(torch.randn(8, 3, 224, 224).cuda()))
# ---
import torch
from torch import nn

cell = nn.Linear(8, 8)
state = torch.zeros(1, 8)
states = []
for t in range(200):
    state = cell(state)
    states.append(state)
torch.stack(states).sum().backward()
