import copy
import random
from collections import deque

import torch
import torch.nn.functional as F


class SAC:
    def __init__(self, actor, critic, gamma=0.99, tau=0.005, device="cuda"):
        self.actor, self.critic = actor.to(device), critic.to(device)
        self.target = copy.deepcopy(self.critic)
        self.gamma, self.tau, self.alpha = gamma, tau, 0.2
        self.oa = torch.optim.Adam(self.actor.parameters(), 3e-4)
        self.oc = torch.optim.Adam(self.critic.parameters(), 3e-4)
        self.device = device
        self.memory = deque(maxlen=1_000_000)
        self.stats = {"q": [], "pi": []}

    def act(self, obs):
        o = torch.as_tensor(obs, dtype=torch.float32, device=self.device)
        action, _ = self.actor(o[None])
        return action[0]

    def remember(self, obs, obs2, reward, done):
        action = self.act(obs)
        self.memory.append((obs, action, reward, obs2, done))

    def update(self, n=256):
        obs, act, rew, obs2, done = zip(*random.sample(self.memory, n))
        t = lambda z: torch.as_tensor(z, dtype=torch.float32, device=self.device)
        obs, rew, obs2, done = map(t, (obs, rew, obs2, done))
        act = torch.stack(act).detach()
        with torch.no_grad():
            a2, lp2 = self.actor(obs2)
            y = rew + self.gamma * (1 - done) * (self.target(obs2, a2).squeeze(-1) - self.alpha * lp2)
        ql = F.mse_loss(self.critic(obs, act).squeeze(-1), y)
        self.oc.zero_grad()
        ql.backward()
        self.oc.step()
        a, lp = self.actor(obs)
        pl = (self.alpha * lp - self.critic(obs, a).squeeze(-1)).mean()
        self.oa.zero_grad()
        pl.backward()
        self.oa.step()
        self.stats["q"].append(ql.item())
        self.stats["pi"].append(pl.item())
        with torch.no_grad():
            for p, q in zip(self.target.parameters(), self.critic.parameters()):
                p.lerp_(q, self.tau)
