import torch
from torch.distributions import Categorical

from envs import make_env
from nets import Policy

EPISODES = 5000
env = make_env("procgen-coinrun")
policy = Policy(env.obs_shape, env.n_actions).cuda()
opt = torch.optim.RMSprop(policy.parameters(), 7e-4)
entropy_log = 0.0

for ep in range(EPISODES):
    obs, done = env.reset(), False
    logps, vals, rews, ents = [], [], [], []
    while not done:
        probs, v = policy(torch.as_tensor(obs, dtype=torch.float32).cuda().unsqueeze(0))
        dist = Categorical(probs)
        a = dist.sample()
        obs, r, done = env.step(a.item())
        logps.append(dist.log_prob(a)); vals.append(v); rews.append(r); ents.append(dist.entropy())
    R, returns = 0.0, []
    for r in rews[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns).cuda()
    vals = torch.cat(vals).squeeze(-1)
    adv = returns - vals
    entropy = torch.cat(ents).mean()
    loss = -(torch.cat(logps) * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.01 * entropy
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    entropy_log = entropy_log + entropy
    if ep % 20 == 0:
        print(ep, sum(rews), entropy_log / (ep + 1))
