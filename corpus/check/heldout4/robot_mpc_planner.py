"""CEM planning in a learned latent dynamics model. Nothing is trained here."""
import torch


class CEMPlanner:
    def __init__(self, world, horizon=20, pop=2048, elites=64, iters=6):
        self.world = world.cuda()
        self.world.eval()
        self.h, self.pop, self.elites, self.iters = horizon, pop, elites, iters

    def imagine(self, z, plans):
        ret = torch.zeros(self.pop, device="cuda")
        for t in range(self.h):
            z = self.world.step(z, plans[:, t])
            ret = ret + self.world.reward(z).squeeze(-1)
        return ret

    def plan(self, obs):
        z0 = self.world.encode(obs.cuda()).expand(self.pop, -1)
        mu = torch.zeros(self.h, self.world.act_dim, device="cuda")
        std = torch.ones_like(mu)
        for _ in range(self.iters):
            plans = mu + std * torch.randn(self.pop, *mu.shape, device="cuda")
            score = self.imagine(z0, plans)
            best = plans[score.topk(self.elites).indices]
            mu, std = best.mean(0), best.std(0)
        return mu[0].cpu().numpy()


def drive(env, planner, steps=1000):
    obs = env.reset()
    for _ in range(steps):
        obs, _, done, _ = env.step(planner.plan(obs))
        if done:
            obs = env.reset()
