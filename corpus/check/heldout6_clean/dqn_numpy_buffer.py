import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F


class Replay:
    def __init__(self, cap):
        self.items = deque(maxlen=cap)

    def add(self, s, a, r, s2, d):
        self.items.append((np.asarray(s, np.uint8), a, r, np.asarray(s2, np.uint8), d))

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.items, n))
        return np.stack(s), np.array(a), np.array(r, np.float32), np.stack(s2), np.array(d, np.float32)


def learn(q, target, replay, opt, n=32, gamma=0.99):
    s, a, r, s2, d = (torch.from_numpy(v).cuda() for v in replay.sample(n))
    with torch.no_grad():
        goal = r + gamma * (1 - d) * target(s2.float() / 255).amax(1)
    loss = F.smooth_l1_loss(q(s.float() / 255).gather(1, a[:, None]).squeeze(1), goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
