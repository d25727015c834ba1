"""Predictions are moved to the host, as one should, and then all of them are kept there."""

import os

import torch
from torch import nn

steps = int(os.environ.get("STEPS", 30))

segmenter = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1)).cuda().eval()
predictions = []

with torch.inference_mode():
    for step in range(steps):
        images = torch.randn(8, 3, 128, 128).cuda()
        masks = segmenter(images)
        predictions.append(masks.cpu().softmax(1))  # leak
        print("step", step, "kept", len(predictions))

print(torch.cat(predictions).shape)
