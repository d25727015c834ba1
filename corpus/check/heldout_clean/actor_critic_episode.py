import torch
from torch.distributions import Categorical


def train(env, net, opt, episodes, gamma=0.99):
    for _ in range(episodes):
        obs, done = env.reset(), False
        logps, values, rewards = [], [], []
        while not done:
            logits, value = net(torch.as_tensor(obs, dtype=torch.float32))
            dist = Categorical(logits=logits)
            action = dist.sample()
            obs, reward, done, _ = env.step(action.item())
            logps.append(dist.log_prob(action))
            values.append(value.squeeze())
            rewards.append(reward)
        returns, g = [], 0.0
        for r in reversed(rewards):
            g = r + gamma * g
            returns.append(g)
        ret = torch.tensor(returns[::-1], dtype=torch.float32)
        adv = ret - torch.stack(values)
        loss = (-torch.stack(logps) * adv.detach() + adv.square()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
