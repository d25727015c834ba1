import torch
from torch import nn


class Surface(nn.Module):
    """Needs gradients for what it returns."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 1)

    def normals(self, points):
        points.requires_grad_(True)
        distance = self.body(points)
        return torch.autograd.grad(distance, points, torch.ones_like(distance), create_graph=True)[0]

    def forward(self, points):
        return self.normals(points)


class Scene(nn.Module):
    def __init__(self):
        super().__init__()
        self.surface = Surface()

    def forward(self, points):
        return self.surface(points)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 1)

    def forward(self, points):
        return self.body(points)


class Switching(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 1)

    def forward(self, points, mode):
        if mode == "inference":
            with torch.no_grad():
                return self.body(points)
        return self.body(points)
