"""Teacher forcing: the losses of the time steps belong to one graph, so they are summed."""
import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.cell = nn.GRUCell(d, d)
        self.out = nn.Linear(d, vocab)

    def forward(self, token, h):
        h = self.cell(self.emb(token), h)
        return self.out(h), h


def sequence_loss(dec, h, tokens):
    loss = 0.0
    for t in range(tokens.size(1) - 1):
        logits, h = dec(tokens[:, t], h)
        loss = loss + F.cross_entropy(logits, tokens[:, t + 1])
    return loss / (tokens.size(1) - 1)


def train(enc, dec, loader, epochs=5):
    enc, dec = enc.cuda(), dec.cuda()
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
    for e in range(epochs):
        total = 0.0
        for src, tgt in loader:
            loss = sequence_loss(dec, enc(src.cuda()), tgt.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(e, total / len(loader))
