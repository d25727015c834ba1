import random
from collections import deque

import numpy as np
import torch


class Replay:
    def __init__(self, cap=100_000):
        self.data = deque(maxlen=cap)

    def push(self, o, a, r, o2, d):
        self.data.append((np.asarray(o, np.float32), int(a), float(r), np.asarray(o2, np.float32), float(d)))

    def sample(self, n):
        cols = zip(*random.sample(self.data, n))
        return [torch.as_tensor(np.stack(c)) for c in cols]


class Agent:
    def __init__(self, q, n_actions):
        self.q, self.n = q, n_actions
        self.buf = Replay()

    @torch.no_grad()
    def act(self, o, eps):
        if random.random() < eps:
            return random.randrange(self.n)
        x = torch.as_tensor(np.asarray(o, np.float32)).cuda()[None]
        return self.q(x).argmax(1).item()
