"""Dreamer-like world model: losses over imagined segments."""
import torch
import torch.nn.functional as F


def kl(post, prior):
    return torch.distributions.kl_divergence(post, prior).sum(-1).mean()


def train_epoch(world, opt, replay, segments=8, updates=500):
    for _ in range(updates):
        total = 0.0
        for _ in range(segments):
            obs, act = replay.sample(batch=16, length=50)
            obs, act = obs.cuda(), act.cuda()
            post, prior, recon = world(obs, act)
            total = total + F.mse_loss(recon, obs) + 0.1 * kl(post, prior)
        opt.zero_grad()
        (total / segments).backward()
        opt.step()


def imagine(world, policy, start, horizon=15):
    state, out = start, []
    for _ in range(horizon):
        state = world.step(state, policy(state).rsample())
        out.append(state)
    return torch.stack(out)
