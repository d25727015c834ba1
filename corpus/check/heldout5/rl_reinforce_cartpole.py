import gymnasium as gym
import torch
import torch.nn as nn
from torch.distributions import Categorical

env = gym.make("CartPole-v1")
pi = nn.Sequential(nn.Linear(4, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 2))
opt = torch.optim.Adam(pi.parameters(), lr=1e-3)
all_returns, all_logps = [], []

for episode in range(20000):
    obs, _ = env.reset()
    logps, rewards, over = [], [], False
    while not over:
        dist = Categorical(logits=pi(torch.as_tensor(obs, dtype=torch.float32)))
        act = dist.sample()
        logps.append(dist.log_prob(act))
        obs, r, term, trunc, _ = env.step(act.item())
        rewards.append(r)
        over = term or trunc

    G, rets = 0.0, []
    for r in reversed(rewards):
        G = r + 0.99 * G
        rets.insert(0, G)
    rets = torch.tensor(rets)
    loss = -(torch.stack(logps) * (rets - rets.mean())).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    all_returns.append(sum(rewards))
    all_logps.extend(logps)  # for the entropy plot later
    if episode % 200 == 0:
        print(episode, sum(all_returns[-200:]) / 200)

torch.save([float(v) for v in all_logps], "logps.pt")
