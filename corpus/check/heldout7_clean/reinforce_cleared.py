import torch
from torch.distributions import Categorical


class Episode:
    def __init__(self):
        self.log_probs, self.rewards = [], []

    def loss(self, gamma):
        ret, out = 0.0, []
        for r in reversed(self.rewards):
            ret = r + gamma * ret
            out.append(ret)
        out = torch.tensor(out[::-1], device=self.log_probs[0].device)
        out = (out - out.mean()) / (out.std() + 1e-8)
        return -(torch.cat(self.log_probs) * out).sum()


def run_episode(policy, env, device="cuda"):
    ep = Episode()
    obs, done = env.reset(), False
    while not done:
        dist = Categorical(logits=policy(torch.as_tensor(obs, dtype=torch.float32, device=device)[None]))
        a = dist.sample()
        ep.log_probs.append(dist.log_prob(a))
        obs, r, done = env.step(a.item())
        ep.rewards.append(r)
    return ep


def train(policy, env, opt, episodes=10_000, gamma=0.99):
    for i in range(episodes):
        ep = run_episode(policy, env)
        loss = ep.loss(gamma)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 100 == 0:
            print(i, sum(ep.rewards))
