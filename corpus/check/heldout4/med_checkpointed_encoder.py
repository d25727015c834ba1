"""3D encoder on 192^3 crops; checkpointing to make it fit in 24 GB."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Enc3D(nn.Module):
    def __init__(self, chans=(1, 32, 64, 128, 256)):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b), nn.LeakyReLU(),
                          nn.Conv3d(b, b, 3, 2, 1), nn.InstanceNorm3d(b), nn.LeakyReLU())
            for a, b in zip(chans, chans[1:]))

    def forward(self, x):
        for s in self.stages:
            x = s(x)
        return x.mean((2, 3, 4))


class Classifier(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.encoder = Enc3D()
        self.fc = nn.Linear(256, n)

    def forward(self, x):
        h = checkpoint(self.encoder, x, use_reentrant=False)
        return self.fc(h)


def fit(loader, epochs=40):
    net = Classifier(2).cuda()
    opt = torch.optim.AdamW(net.parameters(), 3e-4)
    for epoch in range(epochs):
        for vol, y in loader:
            loss = nn.functional.cross_entropy(net(vol.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())
    return net
