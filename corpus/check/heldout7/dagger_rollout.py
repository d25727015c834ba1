import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from envs import make_env
from nets import ConvPolicy, PrivilegedExpert

device = torch.device("cuda")
env = make_env("PickCube-v1")
learner = ConvPolicy(env.act_dim).to(device)
expert = PrivilegedExpert(env.state_dim, env.act_dim)
expert.load_state_dict(torch.load("expert.pt", map_location="cpu"))
expert = expert.to(device)
optim = torch.optim.Adam(learner.parameters(), lr=3e-4)


def to_t(x):
    return torch.as_tensor(x, dtype=torch.float32, device=device)


def rollout(n_steps):
    imgs, states, taken = [], [], []
    obs = env.reset()
    for _ in range(n_steps):
        a = learner(to_t(obs["rgb"]).unsqueeze(0))
        taken.append(a)
        imgs.append(obs["rgb"])
        states.append(obs["state"])
        obs, _, done, _ = env.step(a[0].detach().cpu().numpy())
        if done:
            obs = env.reset()
    return np.stack(imgs), np.stack(states), taken


def update(imgs, states, epochs=4, bs=64):
    for _ in range(epochs):
        for idx in np.array_split(np.random.permutation(len(imgs)), len(imgs) // bs):
            target = expert(to_t(states[idx]))
            loss = F.mse_loss(learner(to_t(imgs[idx])), target)
            optim.zero_grad()
            loss.backward()
            optim.step()
    return loss.item()


for it in range(200):
    imgs, states, taken = rollout(2000)
    spread = torch.cat(taken).std(0).mean().item()
    print(it, "action spread", spread, "loss", update(imgs, states))
