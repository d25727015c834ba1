import random
from collections import deque, namedtuple

import torch
from torch import nn

Step = namedtuple("Step", "obs action value reward")


class Runner:
    def __init__(self, agent, env, size=200_000):
        self.agent, self.env = agent, env
        self.memory = deque(maxlen=size)

    def run_episode(self):
        obs, done = self.env.reset(), False
        while not done:
            x = torch.as_tensor(obs, dtype=torch.float32, device="cuda").unsqueeze(0)
            q = self.agent(x)
            action = q.argmax(1)
            nxt, reward, done, _ = self.env.step(action.item())
            self.memory.append(Step(x, action, q.max(), reward))
            obs = nxt

    def learn(self, opt, batch=64):
        sample = random.sample(self.memory, batch)
        q = self.agent(torch.cat([s.obs for s in sample]))
        target = torch.tensor([s.reward for s in sample], device="cuda")
        loss = nn.functional.mse_loss(q.max(1).values, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
