# trying RL for my flappy clone, based on the pytorch REINFORCE example
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

from flappy import FlappyEnv


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                 nn.Flatten(), nn.LazyLinear(256), nn.ReLU(), nn.Linear(256, 2))
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.net(x), dim=1)


policy = Policy().cuda()
env = FlappyEnv()
entropies = []


def select_action(state):
    probs = policy(torch.from_numpy(state).float().unsqueeze(0).cuda())
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    entropies.append(m.entropy())
    return action.item()


def finish_episode(opt, gamma=0.99):
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns).cuda()
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = torch.cat([-lp * R for lp, R in zip(policy.saved_log_probs, returns)]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    policy.saved_log_probs.clear()
    policy.rewards.clear()


select_action(env.reset())
policy.saved_log_probs.clear()
opt = optim.Adam(policy.parameters(), lr=1e-4)
for ep in range(100000):
    state, done = env.reset(), False
    while not done:
        state, r, done = env.step(select_action(state))
        policy.rewards.append(r)
    finish_episode(opt)
    if ep % 100 == 0:
        print(ep, "entropy", torch.cat(entropies[-1000:]).mean().item())
