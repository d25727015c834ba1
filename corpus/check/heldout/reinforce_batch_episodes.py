import torch
from torch.distributions import Categorical


def episode_loss(policy, episode, gamma):
    g, loss = 0.0, 0.0
    for obs, act, rew in reversed(episode):
        g = rew + gamma * g
        logp = Categorical(logits=policy(obs)).log_prob(act)
        loss = loss - logp * g
    return loss


def update(policy, opt, episodes, gamma=0.99):
    total = 0.0
    for episode in episodes:
        total += episode_loss(policy, episode, gamma)
    total = total / len(episodes)
    opt.zero_grad()
    total.backward()
    opt.step()
