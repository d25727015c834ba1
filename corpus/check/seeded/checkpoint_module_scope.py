import torch
import torch.nn as nn

from unet import UNet

DEV = torch.device("cuda", 0)
net = UNet(3, 2).to(DEV)
state = torch.load("best.pth", map_location=DEV)
net.load_state_dict(state["net"])
opt = torch.optim.Adam(net.parameters(), 1e-4)
opt.load_state_dict(state["opt"])


def train(loader):
    crit = nn.BCEWithLogitsLoss()
    for x, y in loader:
        opt.zero_grad()
        crit(net(x.to(DEV)), y.to(DEV)).backward()
        opt.step()
