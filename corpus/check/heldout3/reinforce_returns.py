"""REINFORCE on LunarLander with a moving baseline."""
import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Policy(nn.Module):
    def __init__(self, obs_dim, n_actions, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, n_actions)

    def forward(self, obs):
        return Categorical(logits=self.head(self.body(obs)))


class Agent:
    def __init__(self, env):
        self.policy = Policy(env.observation_space.shape[0], env.action_space.n).to(DEVICE)
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.log_probs = []
        self.entropies = []
        self.rewards = []

    def act(self, obs):
        dist = self.policy(torch.as_tensor(obs, dtype=torch.float32, device=DEVICE))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        self.entropies.append(dist.entropy())
        return action.item()

    def learn(self, gamma=0.99):
        g, returns = 0.0, []
        for r in reversed(self.rewards):
            g = r + gamma * g
            returns.insert(0, g)
        returns = torch.tensor(returns, dtype=torch.float32, device=DEVICE)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -(torch.stack(self.log_probs) * returns).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.log_probs.clear()
        self.rewards.clear()
        return loss.item()


def main(episodes=2000):
    env = gym.make("LunarLander-v3")
    agent = Agent(env)
    for ep in range(episodes):
        obs, _ = env.reset()
        done = False
        while not done:
            obs, reward, term, trunc, _ = env.step(agent.act(obs))
            agent.rewards.append(reward)
            done = term or trunc
        loss = agent.learn()
        if ep % 50 == 0:
            print(ep, loss)


if __name__ == "__main__":
    main()
