import torch
from torch.distributions import Categorical


class A2C:
    def __init__(self, net, env, opt, gamma=0.99):
        self.net, self.env, self.opt, self.gamma = net, env, opt, gamma
        self.entropies = []

    def rollout(self, n):
        logps, values, rewards = [], [], []
        obs = self.env.reset()
        for _ in range(n):
            logits, v = self.net(torch.as_tensor(obs, device="cuda"))
            dist = Categorical(logits=logits)
            a = dist.sample()
            obs, r, done, _ = self.env.step(a.item())
            logps.append(dist.log_prob(a))
            values.append(v)
            rewards.append(r)
            self.entropies.append(dist.entropy())
            if done:
                obs = self.env.reset()
        return torch.stack(logps), torch.cat(values), rewards

    def update(self, n=32):
        logps, values, rewards = self.rollout(n)
        ret, g = [], 0.0
        for r in reversed(rewards):
            g = r + self.gamma * g
            ret.insert(0, g)
        adv = torch.tensor(ret, device="cuda") - values
        loss = -(logps * adv.detach()).mean() + 0.5 * adv.square().mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return torch.stack(self.entropies).mean().item()
