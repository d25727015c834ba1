import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(vocab, d), nn.GRUCell(d, d), nn.Linear(d, vocab)

    def forward(self, tokens, h):
        logits = []
        for t in range(tokens.size(1)):
            h = self.cell(self.emb(tokens[:, t]), h)
            logits.append(self.out(h))
        return torch.stack(logits, dim=1)


def train(dec, loader, opt):
    for tok, h0 in loader:
        tok, h0 = tok.cuda(), h0.cuda()
        loss = nn.functional.cross_entropy(dec(tok[:, :-1], h0).flatten(0, 1), tok[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
