"""Behaviour cloning on the xArm demos. Crashes with CUDA OOM in epoch 3, always in validation.
Posting the whole script, sorry for the mess.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from demos import DemoDataset


class BCPolicy(nn.Module):
    def __init__(self, act_dim=7):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 32, 8, 4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(),
        )
        self.head = nn.LazyLinear(act_dim)

    def forward(self, img):
        return self.head(self.conv(img))


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=50)
parser.add_argument("--bs", type=int, default=128)
args = parser.parse_args()

train_loader = DataLoader(DemoDataset("train"), args.bs, shuffle=True, num_workers=4)
val_loader = DataLoader(DemoDataset("val"), args.bs, num_workers=4)

policy = BCPolicy().cuda()
policy(torch.zeros(1, 3, 128, 128).cuda())
opt = torch.optim.Adam(policy.parameters(), lr=1e-4)
train_history = []

for epoch in range(args.epochs):
    policy.train()
    for img, act in train_loader:
        img, act = img.cuda(), act.cuda()
        opt.zero_grad()
        loss = F.mse_loss(policy(img), act)
        loss.backward()
        opt.step()
        train_history.append(loss)

    policy.eval()
    val_loss = 0
    for img, act in val_loader:
        pred = policy(img.cuda())
        val_loss += F.mse_loss(pred, act.cuda())
    print(epoch, "val", float(val_loss) / len(val_loader))
