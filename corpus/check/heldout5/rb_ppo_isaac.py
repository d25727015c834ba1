"""PPO for the quadruped, 4096 parallel envs."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Args:
    horizon: int = 24
    envs: int = 4096
    epochs: int = 5
    minibatches: int = 4
    clip: float = 0.2
    gamma: float = 0.99
    lam: float = 0.95


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 512), nn.ELU(), nn.Linear(512, 256), nn.ELU(), nn.Linear(256, act))
        self.v = nn.Sequential(nn.Linear(obs, 512), nn.ELU(), nn.Linear(512, 256), nn.ELU(), nn.Linear(256, 1))
        self.logstd = nn.Parameter(torch.zeros(act))

    def dist(self, o):
        return torch.distributions.Normal(self.pi(o), self.logstd.exp())


class Rollout:
    def __init__(self):
        self.obs, self.act, self.logp, self.val, self.rew, self.done = [], [], [], [], [], []

    def add(self, o, a, lp, v, r, d):
        self.obs.append(o)
        self.act.append(a)
        self.logp.append(lp)
        self.val.append(v)
        self.rew.append(r)
        self.done.append(d)


def collect(env, ac, obs, args):
    ro = Rollout()
    for _ in range(args.horizon):
        d = ac.dist(obs)
        a = d.sample()
        lp = d.log_prob(a).sum(-1)
        v = ac.v(obs).squeeze(-1)
        nobs, r, done = env.step(a)
        ro.add(obs, a, lp, v, r, done)
        obs = nobs
    return ro, obs


def learn(env, ac, args, iters=3000):
    opt = torch.optim.Adam(ac.parameters(), 1e-3)
    obs = env.reset()
    reward_log = []
    for it in range(iters):
        ro, obs = collect(env, ac, obs, args)
        adv = torch.zeros(args.horizon, args.envs, device=obs.device)
        last = 0
        val = torch.stack(ro.val).detach()
        for t in reversed(range(args.horizon - 1)):
            nd = 1.0 - ro.done[t].float()
            delta = ro.rew[t] + args.gamma * val[t + 1] * nd - val[t]
            last = delta + args.gamma * args.lam * nd * last
            adv[t] = last
        flat = lambda xs: torch.stack(xs).flatten(0, 1)
        O, A, LP = flat(ro.obs), flat(ro.act), flat(ro.logp).detach()
        R = (adv + val).flatten()
        for _ in range(args.epochs):
            for idx in torch.randperm(len(R), device=R.device).chunk(args.minibatches):
                ratio = (ac.dist(O[idx]).log_prob(A[idx]).sum(-1) - LP[idx]).exp()
                ad = adv.flatten()[idx]
                pl = -torch.min(ratio * ad, ratio.clamp(1 - args.clip, 1 + args.clip) * ad).mean()
                vl = (ac.v(O[idx]).squeeze(-1) - R[idx]).pow(2).mean()
                opt.zero_grad()
                (pl + 0.5 * vl).backward()
                opt.step()
        reward_log.append(torch.stack(ro.rew).mean().item())
