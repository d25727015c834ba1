"""Two towers and a loss in which every sample of the batch is the others' negative: no loader, one optimizer."""

import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, width=512, depth=6, tokens=64):
        super().__init__()
        self.enter = nn.Linear(768, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, 256)

    def forward(self, x):
        return F.normalize(self.leave(self.body(self.enter(x)).mean(1)), dim=-1)


image, text = Tower().cuda(), Tower().cuda()
temperature = nn.Parameter(torch.tensor(2.6, device="cuda"))
optimizer = torch.optim.AdamW([*image.parameters(), *text.parameters(), temperature], lr=1e-4)
for step in range(20):
    pictures = torch.randn(256, 64, 768, device="cuda")
    captions = torch.randn(256, 64, 768, device="cuda")
    logits = temperature.exp() * image(pictures) @ text(captions).T
    labels = torch.arange(256, device="cuda")
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
