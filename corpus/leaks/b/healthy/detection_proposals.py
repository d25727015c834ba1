"""A detector whose number of proposals differs from image to image."""

import os
import random

import torch
import torch.nn as nn


def main(iterations: int) -> None:
    random.seed(17)
    backbone = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU()).cuda()
    box_head = nn.Sequential(nn.Linear(64 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, 24)).cuda()
    optimizer = torch.optim.SGD([*backbone.parameters(), *box_head.parameters()], lr=0.01, momentum=0.9)
    for iteration in range(iterations):
        height, width = random.randrange(96, 256, 32), random.randrange(96, 256, 32)
        image = torch.randn(2, 3, height, width, device="cuda")
        features = backbone(image)
        crops = []
        for _ in range(random.randint(1, 80)):
            y, x = random.randrange(features.shape[2] - 7), random.randrange(features.shape[3] - 7)
            crops.append(features[random.randrange(2), :, y : y + 7, x : x + 7].flatten())
        out = box_head(torch.stack(crops))
        loss = out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iteration", iteration, (height, width), "proposals", len(crops))


main(int(os.environ.get("STEPS", 30)))
