import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F


class Agent:
    def __init__(self, net, lr=1e-4, cap=200_000):
        self.online = net.cuda()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.require_grad = False
        self.buffer = deque(maxlen=cap)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.td_errors = []

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(6)
        with torch.no_grad():
            return self.online(self._t(obs)[None]).argmax().item()

    @staticmethod
    def _t(x):
        return torch.as_tensor(np.array(x), dtype=torch.float32, device="cuda")

    def push(self, s, a, r, s2, d):
        self.buffer.append((self._t(s), a, r, self._t(s2), d))

    def learn(self, bs=32, gamma=0.99):
        s, a, r, s2, d = zip(*random.sample(self.buffer, bs))
        s, s2 = torch.stack(s), torch.stack(s2)
        a = torch.tensor(a, device="cuda")
        r = torch.tensor(r, device="cuda", dtype=torch.float32)
        d = torch.tensor(d, device="cuda", dtype=torch.float32)
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        q_next = self.target(s2).max(1).values
        goal = r + gamma * (1 - d) * q_next
        td = goal.detach() - q
        self.td_errors.append(td.abs().mean())
        loss = F.smooth_l1_loss(q, goal.detach())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())
