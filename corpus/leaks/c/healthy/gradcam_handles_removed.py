"""Grad-CAM for each image: new hooks each time, removed by a context manager."""
import contextlib
import os

import torch
from torch import nn

device = "cuda"


@contextlib.contextmanager
def record(layer):
    seen = {}

    def fwd(m, i, o):
        seen["act"] = o

    def bwd(m, gi, go):
        seen["grad"] = go[0]

    handles = [layer.register_forward_hook(fwd), layer.register_full_backward_hook(bwd)]
    try:
        yield seen
    finally:
        for h in handles:
            h.remove()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, padding=1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.conv(x).relu().mean((2, 3)))


def gradcam(model, image, cls):
    with record(model.conv) as seen:
        model.zero_grad(set_to_none=True)
        model(image)[0, cls].backward()
    weights = seen["grad"].mean((2, 3), keepdim=True)
    return (weights * seen["act"]).sum(1).relu().detach()


model = Net().to(device)
coverage = []
for i in range(int(os.environ.get("STEPS", 60))):
    image = torch.rand(1, 3, 160, 160, device=device)
    cam = gradcam(model, image, i % 10)
    coverage.append(cam.mean().item())
    print(f"image {i}: {tuple(cam.shape)} coverage {coverage[-1]:.5f}")
