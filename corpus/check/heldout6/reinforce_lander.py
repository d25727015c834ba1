import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 128), nn.Tanh(), nn.Linear(128, 4))
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, s):
        return Categorical(logits=self.body(s))


def select(policy, s):
    dist = policy(torch.from_numpy(s).float().cuda())
    a = dist.sample()
    policy.saved_log_probs.append(dist.log_prob(a))
    return a.item()


def finish(policy, opt, gamma, start):
    ret, returns = 0.0, []
    for r in reversed(policy.rewards[start:]):
        ret = r + gamma * ret
        returns.insert(0, ret)
    returns = torch.tensor(returns, device="cuda")
    logp = torch.stack(policy.saved_log_probs[start:])
    loss = -(logp * returns).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


def main():
    env = gym.make("LunarLander-v3")
    policy = Policy().cuda()
    opt = torch.optim.Adam(policy.parameters(), 3e-3)
    mean_loss = 0
    for ep in range(5000):
        s, _ = env.reset()
        first = len(policy.rewards)
        over = False
        while not over:
            s, r, done, trunc, _ = env.step(select(policy, s))
            policy.rewards.append(r)
            over = done or trunc
        mean_loss = 0.95 * mean_loss + 0.05 * finish(policy, opt, 0.99, first)
        if ep % 50 == 0:
            print(ep, mean_loss)


main()
