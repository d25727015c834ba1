import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader

from torchvision.models import resnet18


def driver():
    m = resnet18(num_classes=2)
    return m.cuda()


def train(sim_set, real_set, steps, accum=4):
    net = driver()
    opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    huber = nn.HuberLoss()
    sim = itertools.cycle(DataLoader(sim_set, 32, shuffle=True, num_workers=4))
    real = itertools.cycle(DataLoader(real_set, 32, shuffle=True, num_workers=4))
    for step, (s, r) in zip(range(steps), zip(sim, real)):
        x = torch.cat([s[0], r[0]]).cuda()
        y = torch.cat([s[1], r[1]]).cuda()
        loss = huber(net(x), y) / accum
        loss.backward()
        if (step + 1) % accum == 0:
            opt.step()
            opt.zero_grad()
    return net


if __name__ == "__main__":
    sim = torch.load("sim_frames.pt", map_location="cpu")
    real = torch.load("real_frames.pt", map_location="cpu")
    torch.save(train(sim, real, 40_000).state_dict(), "driver.pt")
