import collections
import random

import gymnasium as gym
import torch
import torch.nn.functional as F
from torch import nn

env = gym.make("CartPole-v1")
q = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 2)).cuda()
lag = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 2)).cuda()
lag.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 5e-4)
memory = collections.deque(maxlen=50_000)


@torch.no_grad()
def act(o):
    return int(q(torch.as_tensor(o, device="cuda")[None]).argmax())


def gpu(items, dtype=torch.float32):
    return torch.as_tensor(items, dtype=dtype, device="cuda")


for episode in range(1000):
    o, _ = env.reset()
    over = False
    while not over:
        a = act(o) if random.random() > 0.1 else env.action_space.sample()
        n, r, term, trunc, _ = env.step(a)
        memory.append((o.tolist(), a, float(r), n.tolist(), float(term)))
        o, over = n, term or trunc
        if len(memory) >= 512:
            s, b, w, t, d = map(list, zip(*random.sample(memory, 64)))
            with torch.no_grad():
                goal = gpu(w) + 0.99 * (1 - gpu(d)) * lag(gpu(t)).max(1).values
            loss = F.mse_loss(q(gpu(s)).gather(1, gpu(b, torch.long)[:, None]).squeeze(1), goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
    if episode % 20 == 0:
        lag.load_state_dict(q.state_dict())
