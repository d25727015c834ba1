"""A2C for the seminar; one update every `horizon` steps of all environments."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F


@dataclass
class Rollout:
    values: list = field(default_factory=list)
    logps: list = field(default_factory=list)
    rewards: list = field(default_factory=list)
    masks: list = field(default_factory=list)


def returns_of(ro, last, gamma):
    out, r = [], last
    for rew, m in zip(reversed(ro.rewards), reversed(ro.masks)):
        r = rew + gamma * r * m
        out.append(r)
    return torch.stack(out[::-1])


def train(envs, net, updates, horizon=20, gamma=0.99, device="cuda"):
    net.to(device)
    opt = torch.optim.RMSprop(net.parameters(), lr=7e-4)
    obs = torch.as_tensor(envs.reset(), device=device, dtype=torch.float32)
    core = net.initial_state(envs.num_envs).to(device)
    for up in range(updates):
        ro = Rollout()
        core = core.detach()
        for _ in range(horizon):
            dist, v, core = net(obs, core)
            a = dist.sample()
            nxt, rew, done, _ = envs.step(a.cpu().numpy())
            ro.values.append(v.squeeze(-1))
            ro.logps.append(dist.log_prob(a))
            ro.rewards.append(torch.as_tensor(rew, device=device, dtype=torch.float32))
            ro.masks.append(1 - torch.as_tensor(done, device=device, dtype=torch.float32))
            obs = torch.as_tensor(nxt, device=device, dtype=torch.float32)
        with torch.no_grad():
            last = net(obs, core)[1].squeeze(-1)
        adv = returns_of(ro, last, gamma) - torch.stack(ro.values)
        actor = -(torch.stack(ro.logps) * adv.detach()).mean()
        critic = 0.5 * adv.pow(2).mean()
        opt.zero_grad()
        (actor + critic).backward(retain_graph=True)
        opt.step()
