"""REINFORCE: the log probabilities of one episode are kept because the loss needs them."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 128), nn.Tanh(), nn.Linear(128, act))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def returns(rewards, gamma=0.99):
    out, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        out.append(acc)
    return torch.tensor(out[::-1])


def train(env, episodes=2000):
    policy = Policy(env.obs_dim, env.n_actions)
    opt = torch.optim.Adam(policy.parameters(), 1e-3)
    scores = []
    for ep in range(episodes):
        log_probs, rewards = [], []
        obs, done = env.reset(), False
        while not done:
            dist = policy(torch.as_tensor(obs, dtype=torch.float32))
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            obs, reward, done = env.step(action.item())
            rewards.append(reward)
        ret = returns(rewards)
        ret = (ret - ret.mean()) / (ret.std() + 1e-6)
        loss = -(torch.stack(log_probs) * ret).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        scores.append(sum(rewards))
    return scores
