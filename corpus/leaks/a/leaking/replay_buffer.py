"""A DQN whose replay buffer lives on the card and has no limit."""

import os
import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
steps = int(os.environ.get("STEPS", 30))


def network():
    return nn.Sequential(
        nn.Conv2d(4, 16, 8, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.Flatten(),
        nn.Linear(32 * 9 * 9, 128), nn.ReLU(), nn.Linear(128, 6),
    ).cuda()


q, target = network(), network()
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters())
replay = []


def observe():
    return torch.rand(16, 4, 84, 84, device="cuda")  # leak


state = observe()
for step in range(steps):
    with torch.no_grad():
        action = q(state).argmax(1)
    following = observe()  # leak
    reward = torch.rand(16, device="cuda")
    replay.append((state, action, reward, following))  # leak
    state = following

    s, a, r, n = random.choice(replay)
    with torch.no_grad():
        goal = r + 0.99 * target(n).max(1).values
    loss = F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "buffer", len(replay))
