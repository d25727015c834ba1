"""REINFORCE: the log-probabilities must keep their graph until the end of the episode."""
import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical

env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(policy.parameters(), 1e-2)

for episode in range(500):
    log_probs, rewards = [], []
    obs, _ = env.reset()
    over = False
    while not over:
        dist = Categorical(logits=policy(torch.as_tensor(obs, dtype=torch.float32)))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(float(r))
        over = term or trunc
    ret, returns = 0.0, []
    for r in reversed(rewards):
        ret = r + 0.99 * ret
        returns.insert(0, ret)
    g = torch.tensor(returns)
    g = (g - g.mean()) / (g.std() + 1e-6)
    loss = -(torch.stack(log_probs) * g).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 50 == 0:
        print(episode, sum(rewards))
