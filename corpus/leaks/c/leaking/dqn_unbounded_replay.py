"""DQN on stacked frames, with a replay memory that somebody made from a deque without maxlen."""
import os
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

device = "cuda"
Transition = namedtuple("Transition", "state action reward next_state")
rng = np.random.default_rng(0)


class FrameEnv:
    shape = (4, 84, 84)

    def observe(self):
        return rng.integers(0, 255, size=self.shape, dtype=np.uint8)  # leak

    def step(self, action):
        return self.observe(), rng.random()  # leak


class Replay:
    def __init__(self):
        self.memory = deque()

    def push(self, *args):
        self.memory.append(Transition(*args))  # leak

    def sample(self, n):
        return Transition(*zip(*random.choices(self.memory, k=n)))


qnet = nn.Sequential(nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 20 * 20, 6)).to(device)
opt = torch.optim.Adam(qnet.parameters(), lr=1e-4)
env, replay = FrameEnv(), Replay()
state = env.observe()

for it in range(int(os.environ.get("STEPS", 60))):
    for _ in range(48):
        action = random.randrange(6)
        nxt, reward = env.step(action)  # leak
        replay.push(state, action, reward, nxt)  # leak
        state = nxt
    b = replay.sample(16)
    s = torch.from_numpy(np.stack(b.state)).to(device).float() / 255
    s2 = torch.from_numpy(np.stack(b.next_state)).to(device).float() / 255
    a = torch.tensor(b.action, device=device)[:, None]
    r = torch.tensor(b.reward, dtype=torch.float32, device=device)
    with torch.no_grad():
        target = r + 0.99 * qnet(s2).max(1).values
    loss = F.smooth_l1_loss(qnet(s).gather(1, a).squeeze(1), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"iter {it} loss {loss.item():.4f} replay {len(replay.memory)}")
