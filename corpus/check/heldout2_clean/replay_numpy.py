import random
from collections import deque

import torch


class Agent:
    def __init__(self, net):
        self.net = net.cuda()
        self.memory = deque(maxlen=100_000)

    @torch.no_grad()
    def act(self, obs):
        return self.net(torch.as_tensor(obs).float().cuda()).argmax().item()

    def play(self, env):
        obs, done = env.reset()[0], False
        while not done:
            action = self.act(obs)
            nxt, reward, term, trunc, _ = env.step(action)
            self.memory.append((obs, action, reward, nxt, term))
            obs, done = nxt, term or trunc

    def sample(self, n):
        return random.sample(self.memory, n)
