import torch
from torch import nn


def main(loader):
    net = nn.Linear(8, 2).cuda()
    state = torch.load("a.pt", map_location="cpu")
    net.load_state_dict(state["net"])
    for x in loader:
        net(x.cuda()).sum().backward()
