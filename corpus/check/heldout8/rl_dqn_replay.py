import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F


def act(net, obs, eps, n_actions):
    if random.random() < eps:
        return random.randrange(n_actions)
    return int(net(obs.unsqueeze(0)).argmax())


def learn(net, target, opt, memory, batch=32, gamma=0.99):
    s, a, r, s2, d = zip(*random.sample(memory, batch))
    s, s2 = torch.stack(s), torch.stack(s2)
    a = torch.tensor(a, device=s.device)
    r = torch.tensor(r, device=s.device)
    d = torch.tensor(d, device=s.device, dtype=torch.float32)
    q = net(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        y = r + gamma * (1 - d) * target(s2).max(1).values
    loss = F.smooth_l1_loss(q, y)
    for p in net.parameters():
        if p.grad is not None:
            p.grad.data.zero_()
    loss.backward()
    opt.step()
    return loss


def play(env, net, target, opt, episodes):
    memory = deque(maxlen=100_000)
    losses, step = [], 0
    for ep in range(episodes):
        obs, done = torch.as_tensor(env.reset()[0], device="cuda").float(), False
        while not done:
            a = act(net, obs, max(0.05, 1 - step / 1e5), env.action_space.n)
            nxt, r, done, _, _ = env.step(a)
            nxt = torch.as_tensor(nxt, device="cuda").float()
            memory.append((obs, a, r, nxt, done))
            obs, step = nxt, step + 1
            if len(memory) > 1000:
                losses.append(learn(net, target, opt, memory))
            if step % 1000 == 0:
                target.load_state_dict(net.state_dict())
        print(ep, np.mean([l.item() for l in losses[-100:]]))
