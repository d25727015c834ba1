"""A latent tree search (MuZero-like). The nodes know their parents, and gc is off 'because it is slow'."""
import gc
import os

import torch
from torch import nn

device = "cuda"
gc.disable()  # leak


class Node:
    def __init__(self, latent, parent=None):
        self.latent = latent
        self.parent = parent  # leak
        self.children = []
        self.visits = 0

    def add(self, latent):
        child = Node(latent, parent=self)  # leak
        self.children.append(child)  # leak
        return child

    def backup(self):
        node = self
        while node is not None:
            node.visits += 1
            node = node.parent


class World(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.dyn = nn.Linear(dim + 4, dim)
        self.value = nn.Linear(dim, 1)

    def forward(self, z, action):
        onehot = torch.zeros(z.shape[0], 4, device=device)
        onehot[:, action] = 1
        return torch.tanh(self.dyn(torch.cat([z, onehot], 1)))  # leak


@torch.no_grad()
def search(world, root_latent, sims=5):
    root = Node(root_latent)
    frontier = [root]
    for s in range(sims):
        node = frontier[s // 2]
        child = node.add(world(node.latent, s % 4))  # leak
        child.backup()
        frontier.append(child)
    return root, world.value(frontier[-1].latent).mean().item()


world = World().to(device)
for move in range(int(os.environ.get("STEPS", 60))):
    z0 = torch.randn(512, 256, device=device)  # leak
    root, v = search(world, z0)  # leak
    print(f"move {move}: visits {root.visits} value {v:.3f}")
