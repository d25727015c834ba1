"""PPO for the quadruped in sim. Rollouts and updates live on the same GPU."""
from dataclasses import dataclass, field

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Normal


@dataclass
class Rollout:
    obs: list = field(default_factory=list)
    act: list = field(default_factory=list)
    logp: list = field(default_factory=list)
    val: list = field(default_factory=list)
    rew: list = field(default_factory=list)

    def put(self, o, a, lp, v, r):
        self.obs.append(o)
        self.act.append(a)
        self.logp.append(lp)
        self.val.append(v)
        self.rew.append(r)


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 512), nn.ELU(), nn.Linear(512, 256), nn.ELU())
        self.mu, self.v = nn.Linear(256, n_act), nn.Linear(256, 1)
        self.log_std = nn.Parameter(torch.zeros(n_act))

    def forward(self, o):
        h = self.body(o)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


def collect(env, net, horizon, dev):
    buf, (o, _) = Rollout(), env.reset()
    for _ in range(horizon):
        o = torch.as_tensor(o, dtype=torch.float32, device=dev)
        dist, v = net(o)
        a = dist.sample()
        nxt, r, done, cut, _ = env.step(a.cpu().numpy())
        buf.put(o, a, dist.log_prob(a).sum(-1), v, torch.as_tensor(r, device=dev, dtype=torch.float32))
        o = nxt
    return buf


def update(net, opt, buf, clip=0.2, epochs=5):
    obs, act = torch.stack(buf.obs), torch.stack(buf.act)
    old, val, rew = torch.stack(buf.logp).detach(), torch.stack(buf.val).detach(), torch.stack(buf.rew)
    ret = rew.flip(0).cumsum(0).flip(0)
    adv = ret - val
    for _ in range(epochs):
        dist, v = net(obs)
        ratio = (dist.log_prob(act).sum(-1) - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean() + (v - ret).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    env = gym.make_vec("Ant-v4", num_envs=512)
    net = ActorCritic(env.single_observation_space.shape[0], env.single_action_space.shape[0]).cuda()
    opt = torch.optim.Adam(net.parameters(), 3e-4)
    for it in range(2000):
        update(net, opt, collect(env, net, 256, "cuda"))
