"""Off-policy learner with a replay deque on the card: it is full after 8 iterations."""
import os
import random
from collections import deque

import torch
from torch import nn

device = "cuda"
random.seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(260, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], -1)).squeeze(-1)


replay = deque(maxlen=32)
critic, target = Critic().to(device), Critic().to(device)
target.load_state_dict(critic.state_dict())
opt = torch.optim.Adam(critic.parameters(), lr=3e-4)

for it in range(int(os.environ.get("STEPS", 60))):
    for _ in range(4):
        s = torch.randn(512, 256, device=device)
        a = torch.rand(512, 4, device=device)
        replay.append((s, a, torch.rand(512, device=device), s + 0.1 * torch.randn_like(s)))
    s, a, r, s2 = random.choice(replay)
    with torch.no_grad():
        backup = r + 0.99 * target(s2, torch.rand_like(a))
    loss = nn.functional.mse_loss(critic(s, a), backup)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(target.parameters(), critic.parameters()):
            p.lerp_(q, 0.005)
    print(f"it {it} critic {loss.item():.4f} replay {len(replay)}")
