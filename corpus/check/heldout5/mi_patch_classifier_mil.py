"""Attention MIL over whole-slide patches."""
import torch
from torch import nn


class GatedPool(nn.Module):
    def __init__(self, d=1024, h=256):
        super().__init__()
        self.v = nn.Linear(d, h)
        self.u = nn.Linear(d, h)
        self.w = nn.Linear(h, 1)

    def forward(self, feats):
        a = self.w(torch.tanh(self.v(feats)) * torch.sigmoid(self.u(feats)))
        self.attention_map = a.softmax(0)
        return (self.attention_map * feats).sum(0)


class SlideModel(nn.Module):
    def __init__(self, encoder, n=2):
        super().__init__()
        self.encoder = encoder
        self.pool = GatedPool()
        self.cls = nn.Linear(1024, n)

    def forward(self, patches):
        feats = []
        for chunk in patches.split(64):
            feats.append(self.encoder(chunk))
        return self.cls(self.pool(torch.cat(feats)))


def freeze(module):
    module.eval()
    for n, p in module.named_parameters():
        p.requires_grad == False


def train(slides, encoder, epochs=20):
    freeze(encoder)
    model = SlideModel(encoder).cuda()
    opt = torch.optim.Adam([q for q in model.parameters() if q.requires_grad], 1e-4)
    for _ in range(epochs):
        for patches, y in slides:
            loss = nn.functional.cross_entropy(model(patches.cuda())[None], y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
