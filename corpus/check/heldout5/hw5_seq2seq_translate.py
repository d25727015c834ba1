"""NMT homework, GRU encoder/decoder with teacher forcing."""
import random
import torch
from torch import nn, optim


class Enc(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.e = nn.Embedding(vocab, dim)
        self.g = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.g(self.e(ids))


class Dec(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.e = nn.Embedding(vocab, dim)
        self.g = nn.GRU(dim, dim, batch_first=True)
        self.o = nn.Linear(dim, vocab)

    def forward(self, tok, h):
        y, h = self.g(self.e(tok), h)
        return self.o(y), h


def epoch(enc, dec, batches, opt, crit, device):
    total_loss = 0
    n = 0
    for src, tgt in batches:
        src, tgt = src.to(device), tgt.to(device)
        opt.zero_grad()
        _, h = enc(src)
        tok = tgt[:, :1]
        loss = 0
        for t in range(1, tgt.size(1)):
            logits, h = dec(tok, h)
            loss = loss + crit(logits.squeeze(1), tgt[:, t])
            tok = tgt[:, t:t + 1] if random.random() < 0.5 else logits.argmax(-1)
        loss.backward()
        opt.step()
        total_loss += loss / tgt.size(1)
        n += 1
    return total_loss / n


def main():
    device = torch.device("cuda")
    enc, dec = Enc(12000, 512).to(device), Dec(12000, 512).to(device)
    opt = optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=3e-4)
    crit = nn.CrossEntropyLoss(ignore_index=0)
    batches = torch.load("wmt_batches.pt", map_location="cpu")
    history = {}
    for ep in range(15):
        history[ep] = epoch(enc, dec, batches, opt, crit, device)
        print(ep, history[ep].item())


if __name__ == "__main__":
    main()
