"""torchvision's detectors: proposals, matching and sampling by value, then an evaluation."""

import sys

import torch
import torchvision

make = getattr(torchvision.models.detection, sys.argv[1])
model = make(weights=None, weights_backbone=None, num_classes=5, min_size=128, max_size=192).cuda().train()
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
for step in range(2):
    images = [torch.rand(3, 120, 160, device="cuda") for _ in range(2)]
    boxes = torch.tensor([[10.0, 10, 60, 70], [30, 20, 90, 100]], device="cuda")
    masks = torch.zeros(2, 120, 160, dtype=torch.uint8, device="cuda")
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device="cuda"), "masks": masks} for _ in images]
    sum(model(images, targets).values()).backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
model(images)
