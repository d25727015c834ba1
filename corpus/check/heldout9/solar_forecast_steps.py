"""Solar power from sky images; ConvLSTM, hand-rolled epoch functions."""
import glob

import numpy as np
import torch
from torch import nn


class SkyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 64, 5, 2), nn.ReLU(), nn.Conv2d(64, 128, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(6), nn.Flatten())
        self.rnn = nn.GRU(128 * 36, 256, batch_first=True)
        self.fc = nn.Linear(256, 1)

    def forward(self, clip):
        b, t = clip.shape[:2]
        return self.fc(self.rnn(self.cnn(clip.flatten(0, 1)).view(b, t, -1))[0][:, -1])


def days(split):
    for f in sorted(glob.glob(f"sky/{split}/*.npz")):
        z = np.load(f)
        yield torch.from_numpy(z["clip"]).float(), torch.from_numpy(z["kw"]).float()


def measure(net, split):
    """Mean absolute error in kW."""
    net.eval()
    return sum((net(c.cuda()).squeeze(1) - k.cuda()).abs().mean() for c, k in days(split)) / len(glob.glob(f"sky/{split}/*.npz"))


def main():
    net = SkyNet().cuda()
    opt = torch.optim.Adam(net.parameters(), 3e-4)
    for ep in range(50):
        net.train()
        for clip, kw in days("train"):
            loss = (net(clip.cuda()).squeeze(1) - kw.cuda()).abs().mean()
            loss.backward()
            opt.step()
        print(ep, loss.item(), float(measure(net, "val")))


if __name__ == "__main__":
    main()
