import torch
from fastapi import FastAPI

app = FastAPI()
RESULTS = {}
net = torch.nn.Linear(512, 512).cuda()


@app.post('/embed')
def embed(item: dict):
    v = net(torch.tensor(item['x'], device='cuda'))
    RESULTS[item['id']] = v  # <-
    return {'ok': True}
# ---
import torch

replay = []


def collect(env, policy, steps):
    obs = env.reset()
    for _ in range(steps):
        o = torch.tensor(obs, dtype=torch.float32).cuda()
        logits = policy(o)
        a = torch.distributions.Categorical(logits=logits).sample()
        obs, r, done, _ = env.step(a.item())
        replay.append((o, logits, r))  # <-
# ---
import torch


class Trainer:
    outputs = []

    def step(self, model, x, y, opt):
        out = model(x)
        loss = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        type(self).outputs.append(out)  # <-
