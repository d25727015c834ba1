import collections
import copy
import random

import gymnasium as gym
import torch
import torch.nn.functional as F
from torch import nn

env = gym.make("CartPole-v1")
q = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 2)).cuda()
lag = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), 5e-4)
memory = collections.deque(maxlen=200_000)
eps = 0.2


def as_gpu(o):
    return torch.tensor(o, dtype=torch.float32, device="cuda")


for episode in range(3000):
    obs, _ = env.reset()
    over = False
    while not over:
        values = q(as_gpu(obs)[None])
        a = env.action_space.sample() if random.random() < eps else int(values.argmax())
        nxt, r, term, trunc, _ = env.step(a)
        memory.append((obs, a, r, nxt, term, values))
        obs, over = nxt, term or trunc
        if len(memory) < 1000:
            continue
        pick = random.sample(memory, 64)
        o = as_gpu([p[0] for p in pick])
        n = as_gpu([p[3] for p in pick])
        rew = as_gpu([p[2] for p in pick])
        alive = 1 - as_gpu([float(p[4]) for p in pick])
        act = torch.tensor([p[1] for p in pick], device="cuda")
        with torch.no_grad():
            goal = rew + 0.99 * alive * lag(n).max(1).values
        loss = F.smooth_l1_loss(q(o).gather(1, act[:, None]).squeeze(1), goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if episode % 10 == 0:
        lag.load_state_dict(q.state_dict())
