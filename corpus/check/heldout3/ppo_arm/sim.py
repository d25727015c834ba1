import torch


class ArmSim:
    """A planar arm with two joints, many copies at once."""

    obs_dim, act_dim = 8, 2

    def __init__(self, n: int, device: str, limit: int = 200):
        self.n, self.device, self.limit = n, device, limit

    def reset(self):
        self.q = torch.rand(self.n, 2, device=self.device) * 3.14
        self.dq = torch.zeros(self.n, 2, device=self.device)
        self.goal = torch.rand(self.n, 2, device=self.device) * 2 - 1
        self.t = 0
        return self._obs()

    def _tip(self):
        a = self.q.cumsum(1)
        return torch.stack((a.cos().sum(1), a.sin().sum(1)), 1)

    def _obs(self):
        return torch.cat((self.q.cos(), self.q.sin(), self.dq, self.goal), 1)

    def step(self, action):
        self.dq = 0.95 * self.dq + 0.05 * action.clamp(-1, 1)
        self.q = self.q + 0.05 * self.dq
        self.t += 1
        reward = -(self._tip() - self.goal).norm(dim=1)
        done = torch.full((self.n,), float(self.t >= self.limit), device=self.device)
        return (self.reset() if self.t >= self.limit else self._obs()), reward, done
