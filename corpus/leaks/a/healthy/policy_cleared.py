"""REINFORCE with episodes of random length; what an episode saved is cleared after its update."""

import os
import random

import torch
from torch import nn
from torch.distributions import Categorical, Distribution

random.seed(4)
Distribution.set_default_validate_args(False)
steps = int(os.environ.get("STEPS", 30))

policy = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 6)).cuda()
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
log_probs, rewards = [], []

for episode in range(steps):
    for _ in range(random.randint(3, 25)):
        pi = Categorical(logits=policy(torch.randn(256, 64, device="cuda")))
        action = pi.sample()
        log_probs.append(pi.log_prob(action))
        rewards.append(random.random())
    baseline = sum(rewards) / len(rewards)
    loss = -sum(lp.mean() * (r - baseline) for lp, r in zip(log_probs, rewards))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", episode, "length", len(rewards), "loss", loss.item())
    log_probs.clear()
    rewards.clear()
