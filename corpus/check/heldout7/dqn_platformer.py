import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from platformer import make_env


class QNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                               nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten())
        self.a, self.v = nn.Linear(3136, n), nn.Linear(3136, 1)

    def forward(self, x):
        h = self.f(x / 255.0)
        a = self.a(h)
        return self.v(h) + a - a.mean(1, keepdim=True)


class Agent:
    def __init__(self, n_actions, gamma=0.99):
        self.q, self.target_net = QNet(n_actions).cuda(), QNet(n_actions).cuda()
        self.target_net.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), 1e-4)
        self.memory = deque(maxlen=100_000)
        self.gamma = gamma
        self.episode_loss = 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(6)
        with torch.no_grad():
            return self.q(torch.as_tensor(s, device="cuda").float()[None]).argmax(1).item()

    def learn(self, bs=256):
        s, a, r, s2, d = zip(*random.sample(self.memory, bs))
        s = torch.as_tensor(np.stack(s)).float().cuda()
        s2 = torch.as_tensor(np.stack(s2)).float().cuda()
        a = torch.tensor(a).cuda()[:, None]
        r, d = torch.tensor(r).cuda().float(), torch.tensor(d).cuda().float()
        q = self.q(s).gather(1, a).squeeze(1)
        next_q = self.target_net(s2).max(1)[0]
        y = r + self.gamma * next_q * (1 - d)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.episode_loss += loss


env = make_env("level1")
agent = Agent(6)
for ep in range(5000):
    s, done = env.reset(), False
    while not done:
        a = agent.act(s, max(0.05, 1 - ep / 1000))
        s2, r, done = env.step(a)
        agent.memory.append((s, a, r, s2, done))
        s = s2
        if len(agent.memory) > 5000:
            agent.learn()
    if ep % 500 == 0:
        agent.target_net.load_state_dict(agent.q.state_dict())
