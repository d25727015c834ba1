import torch


def rollout(env, agent, steps, device):
    obs, acts, logps = [], [], []
    o = env.reset()
    for _ in range(steps):
        t = torch.as_tensor(o, device=device, dtype=torch.float32)
        with torch.no_grad():
            a, lp = agent.act(t)
        obs.append(t)
        acts.append(a)
        logps.append(lp)
        o = env.step(a.cpu().numpy())[0]
    return torch.stack(obs), torch.stack(acts), torch.stack(logps)
