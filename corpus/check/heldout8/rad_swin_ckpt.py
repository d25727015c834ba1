import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class VolumeClassifier(nn.Module):
    def __init__(self, encoder, n):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.dim, n)

    def forward(self, vol):
        z = self.encoder(vol)
        return self.head(z.mean(1))


def train(model, loader, epochs=20, lr=1e-4):
    model.cuda().train()
    opt = torch.optim.AdamW(model.parameters(), lr)
    ce = nn.CrossEntropyLoss()
    for ep in range(epochs):
        for vol, y in loader:
            opt.zero_grad()
            logits = checkpoint(model, vol.cuda(), use_reentrant=False)
            loss = ce(logits, y.cuda())
            loss.backward()
            opt.step()
        print(ep, loss.item())
