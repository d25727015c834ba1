"""Human pose, heat maps. Two cards in the lab machine."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.models.segmentation import deeplabv3_resnet50


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--init")
    return ap.parse_args()


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum, self.n = 0, 0

    def update(self, v, n):
        self.sum = self.sum + v * n
        self.n += n

    @property
    def avg(self):
        return float(self.sum / self.n)


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = deeplabv3_resnet50(num_classes=17)

    def forward(self, x):
        return self.net(x)["out"]


def test(model, loader, meter):
    model.eval()
    meter.reset()
    for img, hm in loader:
        pred = model(img.cuda())
        meter.update(nn.functional.mse_loss(pred, hm.cuda()), len(img))
    return meter.avg


def main():
    args = get_args()
    model = torch.nn.DataParallel(Pose())
    model.cuda()
    if args.init:
        model.load_state_dict(torch.load(args.init, map_location="cpu")["state_dict"])
    opt = torch.optim.RMSprop(model.parameters(), args.lr)
    z = np.load("pose.npz")
    pairs = list(zip(torch.from_numpy(z["img"]).float(), torch.from_numpy(z["hm"]).float()))
    train, val = DataLoader(pairs[500:], 32, shuffle=True), DataLoader(pairs[:500], 32)
    meter = Meter()
    for ep in range(args.epochs):
        model.train()
        for img, hm in train:
            with torch.autograd.detect_anomaly():
                loss = nn.functional.mse_loss(model(img.cuda()), hm.cuda())
                opt.zero_grad()
                loss.backward()
            opt.step()
        print(ep, test(model, val, meter))


if __name__ == "__main__":
    main()
