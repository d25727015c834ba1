import torch


def collect(env, policy, horizon, device):
    obs = torch.as_tensor(env.reset(), device=device)
    out = []
    with torch.no_grad():
        for _ in range(horizon):
            act = policy(obs).sample()
            nxt, rew, done, _ = env.step(act.cpu().numpy())
            out.append((obs, act, rew, done))
            obs = torch.as_tensor(nxt, device=device)
    return out


def train(env, policy, optimizer, surrogate, loader_of, updates, device="cuda"):
    for it in range(updates):
        batch = collect(env, policy, 128, device)
        for mini in loader_of(batch):
            try:
                optimizer.zero_grad()
                loss = surrogate(policy, mini)
                loss.backward()
                optimizer.step()
            finally:
                torch.cuda.empty_cache()
        print(it, loss.item())
