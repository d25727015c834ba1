"""PPO for the quadruped, 4096 parallel envs in Isaac."""
import torch
import torch.nn as nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 512), nn.ELU(), nn.Linear(512, 256), nn.ELU(), nn.Linear(256, act))
        self.v = nn.Sequential(nn.Linear(obs, 512), nn.ELU(), nn.Linear(512, 256), nn.ELU(), nn.Linear(256, 1))
        self.log_std = nn.Parameter(torch.zeros(act))

    def dist(self, obs):
        return Normal(self.pi(obs), self.log_std.exp())


class Rollout:
    def __init__(self):
        self.obs, self.act, self.logp, self.val, self.rew, self.done = [], [], [], [], [], []

    def add(self, obs, act, logp, val, rew, done):
        self.obs.append(obs)
        self.act.append(act)
        self.logp.append(logp)
        self.val.append(val)
        self.rew.append(rew)
        self.done.append(done)


def collect(env, ac, horizon):
    buf = Rollout()
    obs = env.reset()
    for _ in range(horizon):
        d = ac.dist(obs)
        a = d.sample()
        v = ac.v(obs).squeeze(-1)
        nxt, r, done, _ = env.step(a)
        buf.add(obs, a, d.log_prob(a).sum(-1), v, r, done)
        obs = nxt
    return buf


def gae(buf, gamma=0.99, lam=0.95):
    vals = torch.stack(buf.val).detach()
    adv, last = torch.zeros_like(vals), 0
    for t in reversed(range(len(vals) - 1)):
        mask = 1.0 - buf.done[t].float()
        delta = buf.rew[t] + gamma * vals[t + 1] * mask - vals[t]
        adv[t] = last = delta + gamma * lam * mask * last
    return adv, adv + vals


def update(ac, opt, buf, epochs=5, clip=0.2):
    adv, ret = gae(buf)
    obs, act = torch.stack(buf.obs), torch.stack(buf.act)
    old = torch.stack(buf.logp).detach()
    for _ in range(epochs):
        lp = ac.dist(obs).log_prob(act).sum(-1)
        ratio = (lp - old).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = pg + 0.5 * (ac.v(obs).squeeze(-1) - ret).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
