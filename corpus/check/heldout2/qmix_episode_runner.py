import random
from collections import deque

import torch


class EpisodeRunner:
    def __init__(self, agent, env, capacity=5000):
        self.agent = agent
        self.env = env
        self.memory = deque(maxlen=capacity)

    def play(self, eps):
        obs, done = self.env.reset(), False
        while not done:
            q = self.agent(torch.as_tensor(obs).float().cuda())
            if random.random() < eps:
                action = self.env.action_space.sample()
            else:
                action = int(q.argmax())
            obs2, reward, done, _ = self.env.step(action)
            self.memory.append((obs, action, reward, q, done))
            obs = obs2

    def sample(self, n):
        return random.sample(self.memory, n)
