import torch


@torch.no_grad()
def collect(env, policy, n):
    obs, buf = env.reset(), []
    for _ in range(n):
        dist, value = policy(obs)
        act = dist.sample()
        nxt, rew, done = env.step(act)
        buf.append((obs, act, dist.log_prob(act), value, rew, done))
        obs = nxt
    return buf
