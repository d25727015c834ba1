"""PPO: rollouts of eight steps collected into lists, several epochs over them, then reset."""
import os
from dataclasses import dataclass, field

import torch
from torch import nn

device = "cuda"
N, OBS, ACT = 256, 128, 6


@dataclass
class Rollout:
    obs: list = field(default_factory=list)
    act: list = field(default_factory=list)
    logp: list = field(default_factory=list)
    rew: list = field(default_factory=list)

    def add(self, o, a, lp, r):
        self.obs.append(o)
        self.act.append(a)
        self.logp.append(lp)
        self.rew.append(r)

    def tensors(self):
        return (torch.cat(v) for v in (self.obs, self.act, self.logp, self.rew))


policy = nn.Sequential(nn.Linear(OBS, 128), nn.Tanh(), nn.Linear(128, ACT)).to(device)
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
obs = torch.randn(N, OBS, device=device)
for update in range(int(os.environ.get("STEPS", 60))):
    roll = Rollout()
    with torch.no_grad():
        for _ in range(8):
            lp = policy(obs).log_softmax(-1)
            a = (lp - torch.log(-torch.log(torch.rand_like(lp)))).argmax(-1)
            roll.add(obs, a, lp.gather(1, a[:, None])[:, 0], torch.rand(N, device=device))
            obs = 0.9 * obs + 0.1 * torch.randn_like(obs)
    o, a, old, rew = roll.tensors()
    adv = (rew - rew.mean()) / (rew.std() + 1e-6)
    for _ in range(3):
        new = policy(o).log_softmax(-1).gather(1, a[:, None])[:, 0]
        ratio = (new - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"update {update} loss {loss.item():.4f} return {rew.mean().item():.3f}")
