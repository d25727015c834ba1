import torch


class Critic(torch.nn.Module):
    def __init__(self, obs_dim):
        super().__init__()
        self.v = torch.nn.Sequential(torch.nn.Linear(obs_dim, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1))

    def forward(self, obs):
        return self.v(obs).squeeze(-1)


def value_error(critic, episodes, gamma=0.99):
    """Mean squared error of the critic on recorded episodes, for the report."""
    err = 0
    n = 0
    for ep in episodes:
        ret = 0.0
        for obs, rew in reversed(ep):
            ret = rew + gamma * ret
            v = critic(torch.as_tensor(obs, device="cuda"))
            err = err + (v - ret) ** 2
            n += 1
    return (err / n).item()
