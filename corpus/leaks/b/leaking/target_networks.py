"""Soft actor-critic style training that takes a new target network often, and keeps the old ones for an ensemble."""

import copy
import os

import torch
import torch.nn as nn


class Agent:
    def __init__(self) -> None:
        self.critic = nn.Sequential(nn.Linear(96, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1)).cuda()
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.targets: list[nn.Module] = []
        self.refresh()

    def refresh(self) -> None:
        target = copy.deepcopy(self.critic)  # leak
        self.targets.append(target.requires_grad_(False))  # leak

    def learn(self, state: torch.Tensor, reward: torch.Tensor, following: torch.Tensor) -> float:
        goal = reward + 0.99 * self.targets[-1](following)
        loss = nn.functional.mse_loss(self.critic(state), goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main(iterations: int) -> None:
    agent = Agent()
    for iteration in range(iterations):
        loss = agent.learn(*(torch.randn(256, n, device="cuda") for n in (96, 1, 96)))
        if iteration % 2:
            agent.refresh()  # leak
        print(f"iteration {iteration}: {loss:.4f}, targets {len(agent.targets)}")


main(int(os.environ.get("STEPS", 30)))
