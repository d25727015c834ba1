import torch


def evaluate(agent, env_fn, episodes=20, device="cuda"):
    agent.eval()
    returns = []
    for _ in range(episodes):
        env = env_fn()
        obs, done, total = env.reset(), False, 0.0
        h = agent.initial_state(1, device)
        while not done:
            x = torch.as_tensor(obs, dtype=torch.float32, device=device)[None]
            logits, _, h = agent(x, h)
            obs, r, done, _ = env.step(logits.argmax(-1).item())
            total += r
        returns.append(total)
    agent.train()
    return sum(returns) / len(returns)


def train(agent, learner, env_fn, iters, every=50):
    best = float("-inf")
    for it in range(iters):
        learner.iteration(agent)
        if it % every == 0:
            score = evaluate(agent, env_fn)
            if score > best:
                best = score
                torch.save(agent.state_dict(), "best_agent.pt")
