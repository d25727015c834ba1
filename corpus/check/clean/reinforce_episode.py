import torch
from torch.distributions import Categorical


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))
        self.saved_log_probs, self.rewards = [], []

    def forward(self, s):
        return self.net(s).softmax(-1)


def select_action(policy, state):
    m = Categorical(policy(torch.from_numpy(state).float()))
    a = m.sample()
    policy.saved_log_probs.append(m.log_prob(a))
    return a.item()


def finish_episode(policy, optimizer, returns):
    loss = [-lp * r for lp, r in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    torch.stack(loss).sum().backward()
    optimizer.step()
    del policy.saved_log_probs[:]
    del policy.rewards[:]
