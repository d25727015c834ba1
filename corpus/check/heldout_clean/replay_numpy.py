import random
from collections import deque

import numpy as np
import torch
from torch import nn


class Agent:
    def __init__(self, net, target, size=100_000):
        self.net, self.target = net.cuda(), target.cuda()
        self.target.load_state_dict(self.net.state_dict())
        self.target.requires_grad_(False)
        self.memory = deque(maxlen=size)

    @torch.no_grad()
    def act(self, obs):
        q = self.net(torch.as_tensor(obs, dtype=torch.float32, device="cuda")[None])
        return int(q.argmax())

    def remember(self, obs, act, rew, nxt):
        self.memory.append((np.asarray(obs, np.float32), act, rew, np.asarray(nxt, np.float32)))

    def learn(self, opt, n=64, gamma=0.99):
        o, a, r, x = zip(*random.sample(self.memory, n))
        o, x = (torch.from_numpy(np.stack(v)).cuda() for v in (o, x))
        q = self.net(o).gather(1, torch.tensor(a, device="cuda")[:, None]).squeeze(1)
        with torch.no_grad():
            goal = torch.tensor(r, dtype=torch.float32, device="cuda") + gamma * self.target(x).amax(1)
        opt.zero_grad()
        nn.functional.smooth_l1_loss(q, goal).backward()
        opt.step()
