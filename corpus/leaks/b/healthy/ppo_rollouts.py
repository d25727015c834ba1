"""PPO: a rollout of random length is gathered, used for two epochs, and replaced by the next."""

import os
import random

import torch
import torch.nn as nn
from torch.distributions import Categorical, Distribution


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(200, 400), nn.Tanh())
        self.actor, self.critic = nn.Linear(400, 5), nn.Linear(400, 1)

    def forward(self, x: torch.Tensor):
        h = self.body(x)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def main(updates: int) -> None:
    random.seed(41)
    Distribution.set_default_validate_args(False)
    net = ActorCritic().cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    for update in range(updates):
        rollout = []
        with torch.no_grad():
            for _ in range(random.randint(4, 20)):
                state = torch.randn(128, 200, device="cuda")
                pi, value = net(state)
                action = pi.sample()
                rollout.append((state, action, pi.log_prob(action), value))
        states, actions, old, values = (torch.cat(column) for column in zip(*rollout))
        for _ in range(2):
            pi, value = net(states)
            ratio = (pi.log_prob(actions) - old).exp()
            loss = -ratio.clamp(0.8, 1.2).mean() + (value - values).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("update", update, "length", len(rollout), loss.item())


main(int(os.environ.get("STEPS", 30)))
