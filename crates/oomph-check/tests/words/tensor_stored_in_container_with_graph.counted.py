import torch
from torchvision.models import resnet18

model = resnet18().cuda()
feats = []
for i in range(1000):
    x = torch.randn(8, 3, 224, 224).cuda()
    feats.append(model(x))  # <-
# ---
import torch
from torch import nn

net = nn.Sequential(nn.Linear(512, 512), nn.ReLU()).cuda()
outputs = []
for step in range(0, 5000, 2):
    noise = torch.randn(64, 512, device="cuda")
    outputs.append(net(noise))  # <-
print(len(outputs))
