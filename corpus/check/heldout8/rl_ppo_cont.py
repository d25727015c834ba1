from dataclasses import dataclass, field
from typing import List

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal


@dataclass
class Rollout:
    obs: List[torch.Tensor] = field(default_factory=list)
    act: List[torch.Tensor] = field(default_factory=list)
    logp: List[torch.Tensor] = field(default_factory=list)
    val: List[torch.Tensor] = field(default_factory=list)
    rew: List[float] = field(default_factory=list)


class ActorCritic(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(o, 256), nn.Tanh(), nn.Linear(256, a))
        self.v = nn.Sequential(nn.Linear(o, 256), nn.Tanh(), nn.Linear(256, 1))
        self.log_std = nn.Parameter(torch.zeros(a))

    def dist(self, obs):
        return Normal(self.pi(obs), self.log_std.exp())


def collect(env, ac, steps, device):
    roll = Rollout()
    obs, _ = env.reset()
    for _ in range(steps):
        o = torch.as_tensor(obs, dtype=torch.float32, device=device)
        d = ac.dist(o)
        a = d.sample()
        roll.obs.append(o)
        roll.act.append(a)
        roll.logp.append(d.log_prob(a).sum())
        roll.val.append(ac.v(o).squeeze())
        obs, r, term, trunc, _ = env.step(a.cpu().numpy())
        roll.rew.append(float(r))
        if term or trunc:
            obs, _ = env.reset()
    return roll


def update(ac, opt, roll, gamma=0.99, clip=0.2, epochs=10):
    ret, g = [], 0.0
    for r in reversed(roll.rew):
        g = r + gamma * g
        ret.insert(0, g)
    ret = torch.tensor(ret, device=roll.obs[0].device)
    obs, act = torch.stack(roll.obs), torch.stack(roll.act)
    old = torch.stack(roll.logp).detach()
    adv = ret - torch.stack(roll.val).detach()
    for _ in range(epochs):
        ratio = (ac.dist(obs).log_prob(act).sum(-1) - old).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        vl = (ac.v(obs).squeeze(-1) - ret).pow(2).mean()
        opt.zero_grad()
        (pg + 0.5 * vl).backward()
        opt.step()


if __name__ == "__main__":
    env = gym.make("HalfCheetah-v4")
    ac = ActorCritic(env.observation_space.shape[0], env.action_space.shape[0]).to("cuda")
    opt = torch.optim.Adam(ac.parameters(), 3e-4)
    for it in range(1000):
        update(ac, opt, collect(env, ac, 4096, "cuda"))
