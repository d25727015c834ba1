import itertools
import torch
import torch.nn.functional as F


def cql(q, obs, act, alpha):
    lse = torch.logsumexp(q(obs), dim=1)
    return alpha * (lse - q(obs).gather(1, act[:, None]).squeeze(1)).mean()


def fit(q, q_targ, dataset_loader, steps, tau=0.005, gamma=0.99, alpha=1.0):
    stream = itertools.cycle(dataset_loader)
    opt = torch.optim.Adam(q.parameters(), lr=3e-4)
    smooth = None
    for step in range(steps):
        obs, act, rew, nxt, done = (t.cuda(non_blocking=True) for t in next(stream))
        with torch.no_grad():
            y = rew + gamma * (1 - done) * q_targ(nxt).amax(1)
        bellman = F.mse_loss(q(obs).gather(1, act[:, None]).squeeze(1), y)
        loss = bellman + cql(q, obs, act, alpha)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(q.parameters(), q_targ.parameters()):
                b.lerp_(a, tau)
        smooth = loss if smooth is None else 0.99 * smooth + 0.01 * loss
        if step % 1000 == 0:
            print(step, f"{float(smooth):.4f}")
        torch.cuda.empty_cache()
