import torch
import torch.nn as nn

from cmip import members, observations


class BiasNet(nn.Module):
    """Learns one correction field for all members of the ensemble."""

    def __init__(self, ch):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(ch, 64, 3, padding=1), nn.GELU(), nn.Conv2d(64, ch, 3, padding=1))

    def forward(self, clim):
        return self.net(clim)


net = BiasNet(12).cuda()
opt = torch.optim.Adam(net.parameters(), 1e-3)

for epoch in range(50):
    for ens, clim, obs in zip(members(batch=2), members.climatology(batch=2), observations(batch=2)):
        ens, clim, obs = ens.cuda(), clim.cuda(), obs.cuda()  # (B, 50, 12, 360, 720), (B, 12, 360, 720)
        n = ens.shape[1]
        corr = net(clim).unsqueeze(1).repeat(1, n, 1, 1, 1)
        loss = (ens + corr - obs.unsqueeze(1)).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
torch.save(net.state_dict(), "bias.pt")
