import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F


class Replay:
    def __init__(self, capacity: int):
        self.data = deque(maxlen=capacity)

    def push(self, *transition):
        self.data.append(transition)

    def sample(self, n):
        return list(zip(*random.sample(self.data, n)))


class DQNWorker:
    """Collects transitions and keeps the predicted value of each for prioritising later."""

    def __init__(self, env, net, target, optimizer, device="cuda"):
        self.env, self.net, self.target = env, net.to(device), target.to(device)
        self.optimizer, self.device = optimizer, device
        self.replay = Replay(100_000)

    def collect(self, steps, eps):
        obs, _ = self.env.reset()
        for _ in range(steps):
            state = torch.from_numpy(np.asarray(obs, dtype=np.float32)).to(self.device)
            q = self.net(state[None])[0]
            action = q.argmax().item() if random.random() > eps else self.env.action_space.sample()
            nxt, reward, term, trunc, _ = self.env.step(action)
            self.replay.push(obs, action, reward, nxt, term, q[action])
            obs = nxt
            if term or trunc:
                obs, _ = self.env.reset()

    def update(self, batch=64, gamma=0.99):
        s, a, r, s2, d, _ = self.replay.sample(batch)
        s = torch.as_tensor(np.stack(s), dtype=torch.float32, device=self.device)
        s2 = torch.as_tensor(np.stack(s2), dtype=torch.float32, device=self.device)
        a = torch.as_tensor(a, device=self.device)
        r = torch.as_tensor(r, dtype=torch.float32, device=self.device)
        d = torch.as_tensor(d, dtype=torch.float32, device=self.device)
        with torch.no_grad():
            y = r + gamma * (1 - d) * self.target(s2).max(1).values
        q = self.net(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
