import torch
from torch import nn


class SourceFree:
    def __init__(self, unet, lr=1e-4):
        self.model = unet.cuda()
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
