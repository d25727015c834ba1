"""REINFORCE: log-probabilities are kept with their graph until the episode's backward, then dropped."""
import torch
from torch.distributions import Categorical


class Agent:
    def __init__(self, policy, lr=1e-3, device="cuda"):
        self.policy, self.device = policy.to(device), device
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)
        self.log_probs, self.rewards = [], []

    def act(self, obs):
        logits = self.policy(torch.as_tensor(obs, dtype=torch.float32, device=self.device))
        dist = Categorical(logits=logits)
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        return action.item()

    def finish_episode(self, gamma=0.99):
        g, returns = 0.0, []
        for r in reversed(self.rewards):
            g = r + gamma * g
            returns.append(g)
        returns = torch.tensor(returns[::-1], dtype=torch.float32, device=self.device)
        loss = -(torch.stack(self.log_probs) * (returns - returns.mean())).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.log_probs.clear()
        self.rewards.clear()
        return loss.item()


def play(env, agent, episodes):
    for ep in range(episodes):
        obs, _ = env.reset()
        done = False
        while not done:
            obs, r, term, trunc, _ = env.step(agent.act(obs))
            agent.rewards.append(r)
            done = term or trunc
        value = agent.finish_episode()
        if ep % 20 == 0:
            print(ep, value)
