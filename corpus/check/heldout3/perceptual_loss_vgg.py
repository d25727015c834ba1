import torch
import torch.nn as nn
from torchvision.models import VGG19_Weights, vgg19


class Perceptual(nn.Module):
    """L1 distance of VGG features; the VGG is fixed."""

    def __init__(self, cut=26):
        super().__init__()
        self.vgg = vgg19(weights=VGG19_Weights.DEFAULT).features[:cut].eval()
        for p in self.vgg.parameters():
            p.require_grad = False

    def forward(self, fake, real):
        return nn.functional.l1_loss(self.vgg(fake), self.vgg(real))


class Refiner(nn.Module):
    def __init__(self, width=64, depth=8):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, 1, 1), nn.ReLU(True)]
        for _ in range(depth):
            layers += [nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(True)]
        self.net = nn.Sequential(*layers, nn.Conv2d(width, 3, 3, 1, 1))

    def forward(self, x):
        return x + self.net(x)


def train(loader, epochs=50, lr=2e-4):
    model, feat = Refiner().cuda(), Perceptual().cuda()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        meter = 0.0
        for noisy, clean in loader:
            noisy, clean = noisy.cuda(), clean.cuda()
            out = model(noisy)
            loss = nn.functional.l1_loss(out, clean) + 0.1 * feat(out, clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            meter += loss.item()
        print(epoch, meter / len(loader))
        torch.save(model.state_dict(), "refiner.pt")
