import torch
from torch.distributions import Categorical


class Episode:
    def __init__(self):
        self.logp, self.rewards = [], []

    def clear(self):
        self.logp.clear()
        self.rewards.clear()


def play(env, policy, ep, device):
    s, _ = env.reset()
    over = False
    while not over:
        d = Categorical(logits=policy(torch.as_tensor(s, dtype=torch.float32, device=device)))
        a = d.sample()
        ep.logp.append(d.log_prob(a))
        s, r, done, trunc, _ = env.step(a.item())
        ep.rewards.append(r)
        over = done or trunc


def train(env, policy, episodes, gamma=0.99, device="cuda"):
    opt = torch.optim.Adam(policy.parameters(), 1e-3)
    ep = Episode()
    for _ in range(episodes):
        play(env, policy, ep, device)
        g, back = 0.0, []
        for r in reversed(ep.rewards):
            g = r + gamma * g
            back.append(g)
        ret = torch.tensor(back[::-1], device=device)
        loss = -(torch.stack(ep.logp) * ret).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ep.clear()
