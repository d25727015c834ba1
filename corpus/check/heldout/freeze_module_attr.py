import torch
from torch import nn


class UNet(nn.Module):
    def __init__(self, classes, width=64):
        super().__init__()
        self.inc = nn.Conv2d(1, width, 3, padding=1)
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        return self.outc(self.inc(x).relu())


class SourceFree:
    def __init__(self, weights, lr=1e-4):
        self.model = UNet(classes=5)
        self.model.load_state_dict(weights)
        self.model.cuda()
        self.freeze_head()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def freeze_head(self):
        self.model.outc.requires_grad = False

    def adapt(self, loader, pseudo):
        for image, idx in loader:
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.model(image.cuda()), pseudo[idx].cuda())
            loss.backward()
            self.opt.step()
