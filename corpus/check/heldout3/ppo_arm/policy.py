import torch
from torch import nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self, obs_dim: int, act_dim: int, width: int = 512):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.mu = nn.Linear(width, act_dim)
        self.log_std = nn.Parameter(torch.zeros(act_dim))
        self.v = nn.Linear(width, 1)

    def dist(self, obs):
        h = self.trunk(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)

    def act(self, obs):
        """Samples actions for a batch of environments."""
        d, value = self.dist(obs)
        action = d.sample()
        return action, d.log_prob(action).sum(-1), value
