import torch
from torch.distributions import Categorical


def episode(env, policy, opt):
    obs, done, logps, rews = env.reset(), False, [], []
    while not done:
        d = Categorical(logits=policy(torch.as_tensor(obs).float().cuda()))
        a = d.sample()
        logps.append(d.log_prob(a))
        obs, r, done = env.step(a.item())
        rews.append(r)
    loss = -(torch.stack(logps) * sum(rews)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return sum(rews)
