import torch
import torch.nn as nn
from torch.distributions import Normal
from mlagents_envs.environment import UnityEnvironment

from wrappers import VecUnity

DEV = torch.device("cuda")
ROLL, EPOCHS, CLIP = 2048, 10, 0.2


class ActorCritic(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(o, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
        self.mu, self.v = nn.Linear(512, a), nn.Linear(512, 1)
        self.log_std = nn.Parameter(torch.zeros(a))

    def forward(self, o):
        h = self.body(o)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


env = VecUnity(UnityEnvironment("Crawler"))
ac = ActorCritic(env.obs_dim, env.act_dim).to(DEV)
opt = torch.optim.Adam(ac.parameters(), lr=3e-4)
obs = torch.as_tensor(env.reset(), device=DEV).float()

for it in range(10_000):
    O, A, LP, V, R, Dn = [], [], [], [], [], []
    for t in range(ROLL):
        dist, value = ac(obs)
        act = dist.sample()
        nxt, rew, done = env.step(act.cpu().numpy())
        O.append(obs)
        A.append(act)
        LP.append(dist.log_prob(act).sum(-1))
        V.append(value)
        R.append(torch.as_tensor(rew, device=DEV))
        Dn.append(torch.as_tensor(done, device=DEV).float())
        obs = torch.as_tensor(nxt, device=DEV).float()
    adv, last = [], 0.0
    for t in reversed(range(ROLL - 1)):
        delta = R[t] + 0.99 * V[t + 1].data * (1 - Dn[t]) - V[t].data
        last = delta + 0.99 * 0.95 * (1 - Dn[t]) * last
        adv.insert(0, last)
    adv = torch.stack(adv)
    O_, A_, old = torch.stack(O[:-1]), torch.stack(A[:-1]), torch.stack(LP[:-1]).data
    ret = adv + torch.stack(V[:-1]).data
    for _ in range(EPOCHS):
        dist, value = ac(O_)
        ratio = (dist.log_prob(A_).sum(-1) - old).exp()
        pi = -torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv).mean()
        loss = pi + 0.5 * (value - ret).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
