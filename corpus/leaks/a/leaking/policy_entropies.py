"""REINFORCE that clears the log probabilities after an update, and keeps entropies of the new policy with their graph."""

import os

import torch
from torch import nn
from torch.distributions import Categorical, Distribution

steps = int(os.environ.get("STEPS", 30))
Distribution.set_default_validate_args(False)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(128, 512)
        self.action = nn.Linear(512, 8)
        self.log_probs, self.entropies = [], []

    def forward(self, observation):
        h = torch.tanh(self.hidden(observation))  # leak
        return Categorical(logits=self.action(h))  # leak


policy = Policy().cuda()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)

for episode in range(steps):
    observation = torch.randn(256, 128, device="cuda")
    for t in range(4):
        pi = policy(observation)
        action = pi.sample()
        policy.log_probs.append(pi.log_prob(action))
        observation = torch.randn(256, 128, device="cuda")
    returns = torch.ones(256, device="cuda")
    loss = -sum((log_prob * returns).mean() for log_prob in policy.log_probs)
    opt.zero_grad()
    loss.backward()
    opt.step()
    policy.log_probs.clear()
    observation = torch.randn(1024, 128, device="cuda")  # leak
    policy.entropies.append(policy(observation).entropy())  # leak
    print("step", episode, "entropy", policy.entropies[-1].mean().item())
