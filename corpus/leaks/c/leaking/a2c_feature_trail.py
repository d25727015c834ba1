"""Advantage actor-critic on a made-up vector env: log probs, values and rewards are cleared, the features are not."""
import os

import torch
import torch.nn.functional as F
from torch import nn, optim

device = "cuda"
UPDATES = int(os.environ.get("STEPS", 60))
N_ENVS, HORIZON, OBS, ACTS = 128, 6, 32, 4


class VecEnv:
    def reset(self):
        return torch.randn(N_ENVS, OBS, device=device)

    def step(self, action):
        return torch.randn(N_ENVS, OBS, device=device), torch.rand(N_ENVS, device=device)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(OBS, 512)
        self.pi = nn.Linear(512, ACTS)
        self.v = nn.Linear(512, 1)
        self.log_probs, self.values, self.rewards = [], [], []
        self.features = []

    def act(self, obs):
        h = torch.tanh(self.body(obs))  # leak
        self.features.append(h)  # leak
        logp = F.log_softmax(self.pi(h), dim=-1)
        gumbel = -torch.log(-torch.log(torch.rand_like(logp)))
        action = (logp + gumbel).argmax(-1, keepdim=True)
        self.log_probs.append(logp.gather(1, action).squeeze(1))
        self.values.append(self.v(h).squeeze(1))
        return action

    def finish(self, gamma=0.99):
        ret, returns = torch.zeros(N_ENVS, device=device), []
        for r in reversed(self.rewards):
            ret = r + gamma * ret
            returns.insert(0, ret)
        returns = torch.stack(returns)
        values, logps = torch.stack(self.values), torch.stack(self.log_probs)
        loss = -(logps * (returns - values.detach())).mean() + F.smooth_l1_loss(values, returns)
        del self.log_probs[:], self.values[:], self.rewards[:]
        return loss


env, agent = VecEnv(), Agent().to(device)
optimizer = optim.RMSprop(agent.parameters(), lr=7e-4)
obs = env.reset()
for update in range(UPDATES):
    for _ in range(HORIZON):
        action = agent.act(obs)  # leak
        obs, reward = env.step(action)
        agent.rewards.append(reward)
    loss = agent.finish()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("update", update, "loss", loss.item())
