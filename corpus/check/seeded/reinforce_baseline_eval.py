import gymnasium as gym
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 256), nn.Tanh(), nn.Linear(256, act))

    def forward(self, s):
        return Categorical(logits=self.net(s))


def mean_entropy(policy, env_name, episodes=200):
    env = gym.make(env_name)
    ent, count = 0, 0
    for _ in range(episodes):
        s, _ = env.reset()
        done = False
        while not done:
            dist = policy(torch.as_tensor(s, dtype=torch.float32).cuda())
            ent += dist.entropy()
            count += 1
            s, _, term, trunc, _ = env.step(dist.sample().item())
            done = term or trunc
    return ent / count
