# --- bad
import torch
from torchvision.models import resnet50

model = resnet50()
for p in model.layer1.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
# --- good
import torch
from torchvision.models import resnet50

model = resnet50()
for p in model.layer1.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-4)
# --- bad
import torch
from torchvision.models import resnet50

model = resnet50()
model.layer1.requires_grad_(False)
optimizer = torch.optim.SGD(params=model.parameters(), lr=0.1)
# --- good
import torch
from torchvision.models import resnet50

model = resnet50()
model.layer1.requires_grad_(False)
optimizer = torch.optim.SGD(params=filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
# --- silent
import torch
from torchvision.models import resnet50

model = resnet50()
for p in model.layer1.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(10):
    if epoch == 5:
        for p in model.layer1.parameters():
            p.requires_grad = True
# --- silent
import torch

for p in teacher.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(student.parameters())
