"""An agent that learns from a memory of what it saw: arrays in a deque, sampled at random."""

import argparse
import collections
import random

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
args = parser.parse_args()

memory: collections.deque = collections.deque(maxlen=20_000)
policy = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6)).to(args.device)
target = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6)).to(args.device)
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-4)
seen = np.random.rand(256).astype(np.float32)
for step in range(8_000):
    with torch.no_grad():
        action = int(policy(torch.from_numpy(seen)[None].to(args.device)).argmax())
    after = np.random.rand(256).astype(np.float32)
    memory.append((seen, action, float(after.mean()), after))
    seen = after
    if step >= 500 and step % 8 == 0:
        chosen = random.sample(memory, 64)
        states, later = (torch.from_numpy(np.stack([item[at] for item in chosen])).to(args.device) for at in (0, 3))
        actions = torch.tensor([item[1] for item in chosen], device=args.device)
        rewards = torch.tensor([item[2] for item in chosen], device=args.device)
        value = policy(states).gather(1, actions[:, None])[:, 0]
        with torch.no_grad():
            wanted = rewards + 0.99 * target(later).max(1).values
        loss = nn.functional.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 1_000 == 0:
        target.load_state_dict(policy.state_dict())
print(loss.item())
