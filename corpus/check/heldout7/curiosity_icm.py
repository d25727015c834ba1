import torch
import torch.nn as nn
import torch.nn.functional as F

from maze import MazeVec

torch.autograd.set_detect_anomaly(True)


class ICM(nn.Module):
    def __init__(self, n_act, d=256):
        super().__init__()
        self.phi = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ELU(), nn.Conv2d(32, 32, 3, 2), nn.ELU(),
                                 nn.Flatten(), nn.Linear(32 * 15 * 15, d))
        self.inv = nn.Linear(2 * d, n_act)
        self.fwd = nn.Sequential(nn.Linear(d + n_act, d), nn.ELU(), nn.Linear(d, d))
        self.n = n_act

    def forward(self, s, s2, a):
        f, f2 = self.phi(s), self.phi(s2)
        inv = F.cross_entropy(self.inv(torch.cat([f, f2], 1)), a)
        pred = self.fwd(torch.cat([f.detach(), F.one_hot(a, self.n).float()], 1))
        return inv, (pred - f2.detach()).pow(2).sum(1)


envs = MazeVec(64)
icm = ICM(envs.n_act).cuda()
opt = torch.optim.Adam(icm.parameters(), 1e-4)
s = torch.as_tensor(envs.reset()).float().cuda()
for step in range(1_000_000):
    a = torch.randint(envs.n_act, (64,))
    s2 = torch.as_tensor(envs.step(a.numpy())[0]).float().cuda()
    inv, r_int = icm(s, s2, a.cuda())
    loss = 0.8 * inv + 0.2 * r_int.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    s = s2
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
