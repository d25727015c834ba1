import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor


def block(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.InstanceNorm2d(o), nn.ReLU(True))


def translator():
    return nn.Sequential(block(3, 64), block(64, 128, 2), *[block(128, 128) for _ in range(6)],
                         nn.Upsample(scale_factor=2), nn.Conv2d(128, 3, 3, 1, 1), nn.Tanh())


def detective():
    return nn.Sequential(block(3, 64, 2), block(64, 128, 2), block(128, 256, 2), nn.Conv2d(256, 1, 3, 1, 1))


class CycleGAN:
    def __init__(self):
        self.ab, self.ba = translator().cuda(), translator().cuda()
        self.da, self.db = detective().cuda(), detective().cuda()
        self.og = torch.optim.Adam(itertools.chain(self.ab.parameters(), self.ba.parameters()), 2e-4)
        self.od = torch.optim.Adam(itertools.chain(self.da.parameters(), self.db.parameters()), 2e-4)
        self.l1, self.mse = nn.L1Loss(), nn.MSELoss()

    def translators(self, a, b):
        fb, fa = self.ab(a), self.ba(b)
        vb, va = self.db(fb), self.da(fa)
        loss = self.mse(vb, torch.ones_like(vb)) + self.mse(va, torch.ones_like(va))
        loss = loss + 10 * (self.l1(self.ba(fb), a) + self.l1(self.ab(fa), b))
        self.og.zero_grad()
        loss.backward()
        self.og.step()
        return loss.item()

    def detectives(self, a, b):
        loss = 0
        for d, real, fake in ((self.da, a, self.ba(b)), (self.db, b, self.ab(a))):
            r, f = d(real), d(fake)
            loss = loss + self.mse(r, torch.ones_like(r)) + self.mse(f, torch.zeros_like(f))
        self.od.zero_grad()
        loss.backward()
        self.od.step()
        return loss.item()


if __name__ == "__main__":
    tf = Compose([Resize((256, 256)), ToTensor()])
    A = DataLoader(ImageFolder("maps/aerial", tf), 4, shuffle=True, drop_last=True)
    B = DataLoader(ImageFolder("maps/street", tf), 4, shuffle=True, drop_last=True)
    gan = CycleGAN()
    for ep in range(100):
        for (a, _), (b, _) in zip(A, B):
            g = gan.translators(a.cuda(), b.cuda())
            d = gan.detectives(a.cuda(), b.cuda())
            torch.cuda.empty_cache()
        print(ep, g, d)
