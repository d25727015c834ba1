import torch
from torch.distributions import Categorical


def episode(policy, env):
    obs, _ = env.reset()
    logps, rewards, done = [], [], False
    while not done:
        dist = Categorical(logits=policy(torch.as_tensor(obs).cuda()))
        action = dist.sample()
        logps.append(dist.log_prob(action))
        obs, reward, term, trunc, _ = env.step(action.item())
        rewards.append(float(reward))
        done = term or trunc
    return logps, rewards


def train(policy, env, opt, episodes):
    for _ in range(episodes):
        logps, rewards = episode(policy, env)
        loss = -(torch.stack(logps).sum() * sum(rewards))
        opt.zero_grad()
        loss.backward()
        opt.step()
