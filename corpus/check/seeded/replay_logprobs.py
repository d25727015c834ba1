import torch
from torch.distributions import Normal


class RolloutBuffer:
    def __init__(self):
        self.states, self.actions, self.logps, self.values = [], [], [], []


def collect(env, actor, critic, horizon):
    buf = RolloutBuffer()
    obs = env.reset()
    for t in range(horizon):
        s = torch.as_tensor(obs, dtype=torch.float32, device="cuda")
        mu, std = actor(s)
        dist = Normal(mu, std)
        act = dist.sample()
        buf.states.append(s)
        buf.actions.append(act)
        buf.logps.append(dist.log_prob(act).sum(-1))
        buf.values.append(critic(s))
        obs, _, _, _ = env.step(act.cpu().numpy())
    return buf


def ppo_iteration(env, actor, critic, opt, horizon=2048, epochs=10):
    buf = collect(env, actor, critic, horizon)
    states, actions = torch.stack(buf.states), torch.stack(buf.actions)
    old = torch.stack(buf.logps).detach()
    adv = -torch.stack(buf.values).squeeze(-1).detach()
    for _ in range(epochs):
        mu, std = actor(states)
        ratio = (Normal(mu, std).log_prob(actions).sum(-1) - old).exp()
        loss = -(ratio * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
